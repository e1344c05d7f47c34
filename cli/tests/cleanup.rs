//! `cleanup` as an admin calls it. What it takes off the kernel is tested where that is done, in the
//! dataplane; here is what it says and what it refuses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{fs, path::Path, process::Output};

use assert_cmd::Command;
use sluice_dataplane::bpffs::PinFolder;
use sluice_testkit::{
    bpffs::BpffsDir,
    feature::{Feature, require},
};
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
fn it_says_what_it_removed_and_may_be_run_again() {
    let folder = TempDir::new().unwrap();
    let last_good = folder.path().join("last-good.json");
    fs::write(&last_good, "{}").unwrap();
    let refusals = folder.path().join("refusals.json");
    fs::write(&refusals, "{}").unwrap();
    let absent = folder.path().join("no-pins");
    let output = cleanup(&absent, folder.path());
    assert_eq!(
        text(&output.stdout),
        format!("removed {}\nremoved {}\n", last_good.display(), refusals.display()),
        "{}",
        text(&output.stderr)
    );
    assert!(!last_good.exists() && !refusals.exists());
    let output = cleanup(&absent, folder.path());
    assert_eq!((text(&output.stdout), output.status.code()), ("nothing to remove\n", Some(0)));
}

#[test]
fn it_refuses_a_folder_that_holds_no_pins() {
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
    assert!(text(&output.stderr).contains("systemctl stop sluice-agent"), "{}", text(&output.stderr));
    assert!(pin_path.exists() && state.path().join("last-good.json").exists());
    drop(held);
    let output = cleanup(&pin_path, state.path());
    let expected = format!(
        "removed {}\nremoved {}\n",
        pin_path.display(),
        state.path().join("last-good.json").display()
    );
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert!(!pin_path.exists());
}
