//! Other people's filters, qdiscs and programs are there before and after, and run.

use aya::programs::XdpMode;
use rstest::rstest;
use sluice_dataplane::{Error, marks::MarkHook};

use crate::lab::{Node, Probe, Written};

const FILTERS: [&str; 3] = [
    "filter add dev DEV ingress pref 1 protocol ip u32 match u32 0 0 flowid 1:1",
    "filter add dev DEV ingress pref 50 protocol all u32 match u32 0 0 flowid 1:2",
    "filter add dev DEV egress pref 7 protocol all u32 match u32 0 0 flowid 1:3",
];

#[rstest]
#[case::clsact("clsact", &FILTERS)]
#[case::empty_clsact("clsact", &[])]
#[case::ingress("ingress", &FILTERS[1..2])]
fn a_qdisc_and_filters_that_were_there_stay(
    #[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook,
    #[case] qdisc: &str,
    #[case] filters: &[&str],
) {
    let Some(node) = Node::new("stay", hook) else { return };
    node.tc(&format!("qdisc add dev DEV {qdisc}"));
    for filter in filters {
        node.tc(filter);
    }
    let before = node.shown();
    let pins = node.pins();
    let marks = node.ensure(&pins).unwrap();
    assert!(node.is_attached(&marks));
    node.remove(&marks);
    assert_eq!(node.shown(), before);
}

#[rstest]
#[case::ingress(FILTERS[1], "filter del dev DEV ingress pref 50")]
#[case::egress(FILTERS[2], "filter del dev DEV egress pref 7")]
fn our_qdisc_stays_for_filters_that_came_later(#[case] filter: &str, #[case] its_removal: &str) {
    let Some(node) = Node::new("later", MarkHook::Clsact) else { return };
    let pins = node.pins();
    let marks = node.ensure(&pins).unwrap();
    node.tc(filter);
    node.remove(&marks);
    let shown = node.shown();
    assert!(shown.contains("clsact") && !shown.contains("sluice"), "{shown}");
    assert!(pins.interfaces().unwrap().is_empty());
    // From now on it is theirs.
    node.remove(&node.ensure(&pins).unwrap());
    assert_eq!(node.shown(), shown);
    node.tc(its_removal);
}

#[rstest]
fn a_qdisc_that_somebody_made_in_the_place_of_ours_is_theirs() {
    let Some(node) = Node::new("theirs", MarkHook::Clsact) else { return };
    let pins = node.pins();
    let marks = node.ensure(&pins).unwrap();
    for words in ["qdisc del dev DEV clsact", "qdisc add dev DEV clsact", FILTERS[1]] {
        node.tc(words);
    }
    let before = node.shown();
    assert!(!node.is_attached(&marks));
    let marks = node.ensure(&pins).unwrap();
    assert!(node.is_attached(&marks));
    node.tc("filter del dev DEV ingress pref 50");
    node.remove(&marks);
    assert!(before.contains("clsact") && node.shown().contains("clsact"));
}

#[rstest]
#[case::handle("pref 7 handle 0x51ce protocol all bpf direct-action pinned PIN")]
#[case::kind("pref 7 protocol all u32 match u32 0 0 flowid 1:4")]
fn a_filter_of_somebody_at_our_place_is_left_alone(#[case] filter: &str) {
    let Some(node) = Node::new("place", MarkHook::Clsact) else { return };
    let mut probe = Probe::attach(&node, XdpMode::Driver, Written::new(Some(7), None));
    node.tc("qdisc add dev DEV clsact");
    // Makes the pin.
    probe.watch_by_filter(&node);
    let pin = node.bpffs.path().join("watch").display().to_string();
    node.tc(&format!("filter add dev DEV ingress {}", filter.replace("PIN", &pin)));
    let before = node.shown();
    let pins = node.pins();
    let error = node.ensure(&pins).unwrap_err();
    assert!(matches!(error, Error::MarkFilter { .. }), "{error}");
    assert!(node.adopt(&pins).is_none());
    assert_eq!(node.shown(), before);
    assert!(pins.interfaces().unwrap().is_empty());
}

/// Behind ours run: other tcx programs, and filters on a qdisc, under both hooks.
#[rstest]
fn whoever_comes_behind_runs_and_sees_the_mark(
    #[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook,
    #[values(true, false)] by_filter: bool,
) {
    let Some(node) = Node::new("behind", hook) else { return };
    let mut probe = Probe::attach(&node, XdpMode::Driver, Written::new(Some(7), Some(6)));
    // Theirs are there first, and ours still stands before them.
    node.tc("qdisc add dev DEV clsact");
    if by_filter {
        probe.watch_by_filter(&node);
    } else {
        probe.watch_by_tcx(&node);
    }
    let pins = node.pins();
    let marks = node.ensure(&pins).unwrap();
    node.send(&[node.frame(None, 9, 1), node.frame(None, 10, 1)]);
    let seen = probe.wait_for(2);
    // The kernel runs tcx programs before all filters, so that of ours comes too late for them.
    let too_late = hook == MarkHook::Clsact && !by_filter;
    assert_eq!(seen, if too_late { vec![(0, 0, 2)] } else { vec![(0, 0, 1), (7, 6, 1)] });
    node.remove(&marks);
    node.send(&[node.frame(None, 9, 1)]);
    let unmarked = probe.wait_for(3)[0];
    assert_eq!(unmarked, (0, 0, seen[0].2 + 1), "theirs still runs, and nobody applies the mark");
}
