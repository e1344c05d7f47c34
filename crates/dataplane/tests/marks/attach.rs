//! Attach, adopt, renew, remove, and what a kill leaves at any step.

use std::{fs, path::Path};

use aya::{Ebpf, programs::SchedClassifier};
use rstest::rstest;
use sluice_dataplane::{
    AttachMode, Error,
    attachment::{Attachment, Revision},
    cleanup,
    instance::Compiled,
    marks::{MarkHook, Marks},
    test_programs::MARK_PROBE,
};
use sluice_ebpf_common::Tables;

use crate::lab::Node;

/// Pins by name, without the digests.
fn pinned(node: &Node) -> Vec<String> {
    let Ok(entries) = fs::read_dir(node.folder()) else { return Vec::new() };
    let name = |name: &str| match name.strip_prefix("tc_program_") {
        Some(_) => "tc_program".to_owned(),
        None => name.to_owned(),
    };
    let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap().file_name().to_str().unwrap())).collect();
    names.sort();
    names
}

fn nothing_is_left(node: &Node) {
    assert_eq!(pinned(node), [""; 0]);
    let shown = node.shown();
    assert!(!shown.contains("clsact") && !shown.contains("sluice"), "{shown}");
}

/// Another program of the same type, as an earlier build's would be.
fn pin_another_program(path: &Path) {
    let mut ebpf = Ebpf::load(MARK_PROBE).unwrap();
    let program: &mut SchedClassifier = ebpf.program_mut("watch_marks").unwrap().try_into().unwrap();
    program.load().unwrap();
    program.pin(path).unwrap();
}

#[rstest]
#[case::tcx(MarkHook::Tcx, &["tc_link", "tc_program"])]
#[case::clsact(MarkHook::Clsact, &["tc_program", "tc_qdisc"])]
fn dropping_detaches_nothing_and_the_next_start_adopts(#[case] hook: MarkHook, #[case] names: &[&str]) {
    let Some(node) = Node::new("adopt", hook) else { return };
    drop(node.ensure(&node.pins()).unwrap());
    assert_eq!(pinned(&node), names);
    let pins = node.pins();
    let shown = node.shown();
    let marks = node.adopt(&pins).expect("it is attached");
    assert_eq!(marks.hook(), hook);
    assert!(node.is_attached(&marks));
    // Once more changes nothing.
    node.ensure(&pins).unwrap();
    assert_eq!((pinned(&node), node.shown()), (names.iter().map(ToString::to_string).collect(), shown));
    node.remove(&marks);
    nothing_is_left(&node);
    node.remove(&marks);
    assert!(node.adopt(&pins).is_none());
}

#[rstest]
fn tcx_is_taken_where_the_kernel_has_it() {
    let Some(node) = Node::new("auto", MarkHook::Tcx) else { return };
    let pins = node.pins();
    let marks = node.inside(|| Marks::ensure(&pins, node.ifindex())).unwrap();
    assert_eq!(marks.hook(), MarkHook::Tcx);
    // Clsact by name does not attach a second time.
    let again = node.inside(|| Marks::ensure_by(MarkHook::Clsact, &pins, node.ifindex())).unwrap();
    assert_eq!(again.hook(), MarkHook::Tcx);
}

#[rstest]
fn the_xdp_program_and_the_marks_do_not_disturb_each_other(
    #[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook,
) {
    let Some(node) = Node::new("both", hook) else { return };
    let pins = node.pins();
    let marks = node.ensure(&pins).unwrap();
    let create = || Attachment::create(&pins, node.ifindex(), AttachMode::Native, &revision("a"));
    let mut attachment = node.inside(create).unwrap();
    attachment.swap(&revision("b")).unwrap();
    drop(attachment);
    let attachment = Attachment::adopt(&pins, node.ifindex()).unwrap().expect("it is pinned");
    assert!(node.is_attached(&marks));
    node.remove(&marks);
    assert!(attachment.ids().unwrap().attached);
    assert!(node.folder().join("link").exists());
    node.ensure(&pins).unwrap();
    node.inside(|| attachment.remove()).unwrap();
    nothing_is_left(&node);
}

fn revision(digest: &str) -> Revision<'_> {
    let compiled = &|_: &[u16]| Ok(Compiled { tables: Box::new(Tables::EMPTY), prefixes: Vec::new() });
    Revision { digest, rules: &[], compiled, sources: 0, live: None }
}

#[rstest]
fn cleanup_takes_it_off(#[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook) {
    let Some(node) = Node::new("cleanup", hook) else { return };
    let held = node.ensure(&node.pins()).unwrap();
    let removed = node.inside(|| cleanup::run(&node.pin_path())).unwrap();
    assert_eq!((removed.interfaces, removed.failures.len()), (vec![node.ifindex()], 0));
    assert!(!node.is_attached(&held));
    assert!(!node.pin_path().exists());
    nothing_is_left(&node);
}

#[rstest]
fn another_builds_program_is_renewed(#[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook) {
    let Some(node) = Node::new("renew", hook) else { return };
    let pins = node.pins();
    let before = node.ensure(&pins).unwrap();
    let current = program_pin(&node);
    // The same program under another build's name.
    fs::rename(&current, node.folder().join("tc_program_0000000000000000")).unwrap();
    drop(before);
    let renewed = node.ensure(&pins).unwrap();
    assert_eq!(renewed.hook(), hook);
    assert!(node.is_attached(&renewed));
    assert_eq!(program_pin(&node), current, "one program, of this build");
    node.remove(&renewed);
    nothing_is_left(&node);
}

#[rstest]
fn a_renewal_that_was_cut_short_is_finished(
    #[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook,
    #[values(true, false)] old_in_force: bool,
) {
    let Some(node) = Node::new("cut", hook) else { return };
    let pins = node.pins();
    drop(node.ensure(&pins).unwrap());
    let current = program_pin(&node);
    let old = node.folder().join("tc_program_0000000000000000");
    if old_in_force {
        fs::rename(&current, &old).unwrap();
        pin_another_program(&current);
    } else {
        pin_another_program(&old);
    }
    let marks = node.adopt(&pins).expect("one of the two is in force");
    assert!(node.is_attached(&marks));
    let marks = node.ensure(&pins).unwrap();
    assert!(node.is_attached(&marks));
    assert_eq!(program_pin(&node), current);
    node.remove(&marks);
    nothing_is_left(&node);
}

fn program_pin(node: &Node) -> std::path::PathBuf {
    let entries = fs::read_dir(node.folder()).unwrap().map(|entry| entry.unwrap().path());
    let programs: Vec<_> = entries.filter(|path| path.to_str().unwrap().contains("tc_program_")).collect();
    assert_eq!(programs.len(), 1, "{programs:?}");
    programs[0].clone()
}

/// What a kill leaves at the one step where it can leave anything: a link without a pin goes with its process.
#[rstest]
fn a_kill_before_the_tcx_link_is_pinned_leaves_a_program_that_goes(#[values(true, false)] wanted: bool) {
    let Some(node) = Node::new("unlinked", MarkHook::Tcx) else { return };
    let pins = node.pins();
    fs::create_dir_all(node.folder()).unwrap();
    pin_another_program(&node.folder().join("tc_program_0000000000000000"));
    if wanted {
        let marks = node.ensure(&pins).unwrap();
        assert!(node.is_attached(&marks));
        node.remove(&marks);
    } else {
        assert!(node.adopt(&pins).is_none());
    }
    nothing_is_left(&node);
}

/// What a kill leaves at each step of attaching and detaching by clsact.
#[rstest]
#[case::before_the_qdisc(&[], &["tc_qdisc"])]
#[case::before_the_filter(&["qdisc add dev DEV clsact"], &["tc_qdisc"])]
#[case::before_anything(&[], &[])]
fn what_a_kill_leaves_is_removed_or_finished(
    #[case] steps: &[&str],
    #[case] names: &[&str],
    #[values(true, false)] wanted: bool,
) {
    let Some(node) = Node::new("kill", MarkHook::Clsact) else { return };
    let pins = node.pins();
    fs::create_dir_all(node.folder()).unwrap();
    for name in ["tc_program_0000000000000000"].iter().chain(names) {
        pin_another_program(&node.folder().join(name));
    }
    for step in steps {
        node.tc(step);
    }
    if wanted {
        let marks = node.ensure(&pins).unwrap();
        assert!(node.is_attached(&marks));
        node.remove(&marks);
    } else {
        assert!(node.adopt(&pins).is_none());
    }
    nothing_is_left(&node);
}

/// A kill between the removal of the filter and that of the qdisc, and one between filter and pins.
#[rstest]
#[case::filter("filter del dev DEV ingress")]
#[case::filter_and_qdisc("qdisc del dev DEV clsact")]
fn a_removal_that_was_cut_short_is_finished(#[case] step: &str, #[values(true, false)] wanted: bool) {
    let Some(node) = Node::new("unmade", MarkHook::Clsact) else { return };
    let pins = node.pins();
    let marks = node.ensure(&pins).unwrap();
    node.tc(step);
    assert!(!node.is_attached(&marks));
    if wanted {
        let marks = node.ensure(&pins).unwrap();
        assert!(node.is_attached(&marks));
        node.remove(&marks);
    } else {
        assert!(node.adopt(&pins).is_none());
    }
    nothing_is_left(&node);
}

#[rstest]
fn pins_that_somebody_removed_are_made_again(#[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook) {
    let Some(node) = Node::new("unpinned", hook) else { return };
    let pins = node.pins();
    let before = node.ensure(&pins).unwrap();
    fs::remove_dir_all(node.folder()).unwrap();
    let marks = node.ensure(&pins).unwrap();
    drop(before);
    assert!(node.is_attached(&marks));
    assert!(pinned(&node).contains(&"tc_program".to_owned()));
    node.remove(&marks);
    assert!(!node.shown().contains("sluice"));
}

#[rstest]
fn an_interface_that_is_gone_leaves_nothing(#[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook) {
    let Some(node) = Node::new("gone", hook) else { return };
    let pins = node.pins();
    let marks = node.ensure(&pins).unwrap();
    node.lab.node.namespace.ip(&format!("link del {}", node.lab.node.device)).unwrap();
    assert!(!node.is_attached(&marks));
    assert!(node.adopt(&pins).is_none());
    assert!(pins.interfaces().unwrap().is_empty());
}

#[rstest]
fn an_interface_that_does_not_exist_is_refused_and_leaves_nothing(
    #[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook,
) {
    let Some(node) = Node::new("nodev", hook) else { return };
    let pins = node.pins();
    let error = node.inside(|| Marks::ensure_by(hook, &pins, 9999)).unwrap_err();
    assert!(matches!(error, Error::MarkLink { .. } | Error::MarkFilter { .. }), "{error}");
    assert!(error.to_string().contains("9999"), "{error}");
    assert!(pins.interfaces().unwrap().is_empty());
}
