//! `cleanup` as an admin calls it. What it takes off the kernel is tested where that is done, in the
//! dataplane; here is what it says and what it refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{fs, path::Path, process::Output};

use assert_cmd::Command;
use sluice_dataplane::{
    AttachMode,
    attachment::{Attachment, Revision},
    bpffs::PinFolder,
    instance::Compiled,
};
use sluice_ipc::paths::{LAST_GOOD_FILE, LAST_GOOD_SET_ASIDE_FILE, STATE_FILES};
use sluice_policy::{Bindings, LinkFacts, Node, compile, parse_file};
use sluice_testkit::{BpffsDir, Feature, VethLab, require};
use tempfile::TempDir;

fn cleanup(pin_path: &Path, state_dir: &Path) -> Output {
    let mut command = Command::cargo_bin("sluicectl").unwrap();
    command.args(["--socket", "/nowhere/agent.sock", "cleanup", "--pin-path"]).arg(pin_path);
    command.arg("--state-dir").arg(state_dir).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn it_removes_what_the_agent_wrote_says_so_and_may_be_run_again() {
    let state = TempDir::new().unwrap();
    let files = STATE_FILES.map(|name| state.path().join(name));
    for file in &files {
        fs::write(file, "{}").unwrap();
    }
    let others = state.path().join("mine.json");
    fs::write(&others, "{}").unwrap();
    let absent = state.path().join("no-pins");
    let output = cleanup(&absent, state.path());
    let said = files.each_ref().map(|file| format!("removed {}", file.display()));
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    assert_eq!(lines, said, "{}", text(&output.stderr));
    assert!(files.iter().all(|file| !file.exists()));
    assert!(others.exists(), "the file of somebody else stays");
    let output = cleanup(&absent, state.path());
    assert_eq!((text(&output.stdout), output.status.code()), ("nothing to remove\n", Some(0)));
}

#[test]
fn it_goes_on_after_a_failure_and_tells_each() {
    if !require(Feature::Bpf) {
        return;
    }
    let (pins, state) = (BpffsDir::new("failures").unwrap(), TempDir::new().unwrap());
    let pin_path = pins.path().join("sluice");
    // A directory in place of a link, and one in place of a file: neither can be removed.
    let link = pin_path.join("4294967295/link");
    fs::create_dir_all(&link).unwrap();
    fs::create_dir_all(pin_path.join("4294967294")).unwrap();
    let [spoilt, good] = [LAST_GOOD_FILE, LAST_GOOD_SET_ASIDE_FILE].map(|name| state.path().join(name));
    fs::create_dir(&spoilt).unwrap();
    fs::write(&good, "{}").unwrap();
    let output = cleanup(&pin_path, state.path());
    assert_eq!(output.status.code(), Some(1));
    let said = format!(
        "detached from interface 4294967294 (not seen from this network namespace)\nremoved {}\n",
        good.display()
    );
    assert_eq!(text(&output.stdout), said, "{}", text(&output.stderr));
    for left in [&link, &spoilt] {
        assert!(text(&output.stderr).contains(&left.display().to_string()), "{}", text(&output.stderr));
    }
    assert!(link.exists());
}

#[test]
fn it_keeps_a_directory_that_is_of_no_interface_and_says_what_to_do() {
    if !require(Feature::Bpf) {
        return;
    }
    let (pins, state) = (BpffsDir::new("others").unwrap(), TempDir::new().unwrap());
    let pin_path = pins.path().join("sluice");
    let kept = ["eth0", "mine"].map(|name| pin_path.join(name));
    for folder in &kept {
        fs::create_dir_all(folder).unwrap();
    }
    fs::create_dir(pin_path.join("4294967294")).unwrap();
    let output = cleanup(&pin_path, state.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).starts_with("detached from interface 4294967294 "));
    let fix = "fix: this directory is not Sluice's and is kept; see what it is, and remove it yourself";
    let complaints = kept.each_ref().map(|path| {
        format!("error: cannot remove {}: Is a directory (os error 21)\n  {fix}\n", path.display())
    });
    assert_eq!(text(&output.stderr), complaints.concat());
    assert!(kept.iter().all(|folder| folder.exists()));
}

/// Attaches what drops UDP to port 9.
fn attach(lab: &VethLab, pin_path: &Path) {
    let policy =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/no-discard.yaml"))
            .unwrap();
    let policy = policy.replace("eth*", &lab.node.device);
    let policy = parse_file("no-discard.yaml", policy.as_bytes()).documents.remove(0).result.unwrap();
    let (ifindex, name) = (lab.node.ifindex, lab.node.device.clone());
    let link = LinkFacts { ifindex, name, driver: Some("veth".into()), ..LinkFacts::default() };
    let node = Node { links: vec![link], ..Node::default() };
    let plan = compile(&[policy], &node).interfaces.remove(0);
    let digest = plan.digest();
    let rules = plan.counter_names();
    let pins = PinFolder::open(pin_path).unwrap();
    lab.node.namespace.run(|| {
        let compiled = |_: &[u16]| {
            let compiled = plan.compiled(&Bindings::default()).unwrap();
            Ok(Compiled { tables: compiled.tables, prefixes: compiled.prefixes })
        };
        let revision =
            Revision { digest: &digest, rules: &rules, compiled: &compiled, sources: 0, live: None };
        drop(Attachment::create(&pins, ifindex, AttachMode::Generic, &revision).unwrap());
    });
}

#[test]
fn it_names_an_interface_only_where_that_ran_the_program() {
    if ![Feature::Root, Feature::NetworkNamespaces, Feature::Bpf].into_iter().all(require) {
        return;
    }
    let lab = VethLab::options("cli-cleanup").silent().build().unwrap();
    let (pins, state) = (BpffsDir::new("names").unwrap(), TempDir::new().unwrap());
    let pin_path = pins.path().join("sluice");
    let (node, elsewhere) = (&lab.node, "not seen from this network namespace");
    for (namespace, name) in [(&node.namespace, node.device.as_str()), (&lab.peer.namespace, elsewhere)] {
        attach(&lab, &pin_path);
        let mut command = namespace.command(env!("CARGO_BIN_EXE_sluicectl"));
        command.args(["cleanup", "--pin-path"]).arg(&pin_path).arg("--state-dir").arg(state.path());
        let output = command.output().unwrap();
        let said =
            format!("detached from interface {} ({name})\nremoved {}\n", node.ifindex, pin_path.display());
        assert_eq!(text(&output.stdout), said, "{}", text(&output.stderr));
    }
}

#[test]
fn it_refuses_a_directory_that_holds_no_pins() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("precious"), "").unwrap();
    fs::write(folder.path().join("last-good.json"), "{}").unwrap();
    let output = cleanup(folder.path(), folder.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not in a BPF file system"), "{}", text(&output.stderr));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn it_refuses_while_an_agent_runs_and_says_how_to_stop_it() {
    if !require(Feature::Bpf) {
        return;
    }
    let (pins, state) = (BpffsDir::new("cleanup").unwrap(), TempDir::new().unwrap());
    let pin_path = pins.path().join("sluice");
    fs::write(state.path().join("last-good.json"), "{}").unwrap();
    // What an agent holds while it runs.
    let held = PinFolder::open(&pin_path).unwrap();
    let output = cleanup(&pin_path, state.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("an agent runs and works on"), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("stop it first: `kill PID`"), "{}", text(&output.stderr));
    assert!(pin_path.exists() && state.path().join("last-good.json").exists());
    fs::create_dir(pin_path.join("4294967294")).unwrap();
    drop(held);
    let output = cleanup(&pin_path, state.path());
    let expected = format!(
        "detached from interface 4294967294 (not seen from this network namespace)\nremoved {}\nremoved {}\n",
        pin_path.display(),
        state.path().join("last-good.json").display()
    );
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert!(!pin_path.exists());
}
