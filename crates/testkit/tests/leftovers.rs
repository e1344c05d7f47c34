//! What a killed test leaves behind is gone when the next one starts. The test runs itself once more as the
//! victim, in a process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use sluice_testkit::{BpffsDir, Feature, NetworkNamespace, require, wait_until};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const VICTIM: &str = "TESTKIT_VICTIM";
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn leftovers_of_a_killed_test_are_removed() {
    if std::env::var_os(VICTIM).is_some() {
        live_until_killed();
    }
    if !require(Feature::NetworkNamespaces) || !require(Feature::Bpf) {
        return;
    }
    let [namespace, folder, orphan] = kill_a_victim();
    // Another test that runs beside this one may have removed them already: what counts is that they go.
    let own = NetworkNamespace::new("cleaner").unwrap();
    let _own_folder = BpffsDir::new("cleaner").unwrap();
    wait_until(PATIENCE, "the leftovers are gone", || !namespace.exists() && !folder.exists());
    wait_until(PATIENCE, "the orphan is gone", || !orphan.exists() || is_zombie(&orphan));
    assert!(own.path().exists(), "what is in use stays");
}

fn kill_a_victim() -> [PathBuf; 3] {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leftovers_of_a_killed_test_are_removed", "--nocapture"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut left = BufReader::new(victim.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("LEFT ").map(PathBuf::from));
    let left = [left.next().unwrap(), left.next().unwrap(), left.next().unwrap()];
    assert!(left.iter().all(|path| path.exists()), "{left:?}");
    victim.kill().unwrap();
    victim.wait().unwrap();
    left
}

#[allow(clippy::zombie_processes, reason = "The process is left behind on purpose.")]
fn live_until_killed() -> ! {
    let namespace = NetworkNamespace::new("victim").unwrap();
    let folder = BpffsDir::new("victim").unwrap();
    let orphan = namespace.command("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
    let inside = namespace.run(|| std::fs::read_link("/proc/thread-self/ns/net").unwrap());
    let orphan = format!("/proc/{}", orphan.id());
    wait_until(PATIENCE, "the orphan is inside", || {
        std::fs::read_link(format!("{orphan}/ns/net")).is_ok_and(|its| its == inside)
    });
    println!("\nLEFT {}\nLEFT {}\nLEFT {orphan}", namespace.path().display(), folder.path().display());
    loop {
        std::thread::park();
    }
}

fn is_zombie(process: &Path) -> bool {
    std::fs::read_to_string(process.join("stat")).is_ok_and(|stat| stat.contains(") Z "))
}
