//! The commands that ask an agent, against one that answers what the test says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod canned;

use std::{os::unix::net::UnixListener, path::Path, process::Output};

use assert_cmd::Command;
use canned::RunningAgent;
use sluice_ipc::v1alpha1::{PolicyState, PolicyStatus, StatusReply};
use tempfile::TempDir;
use tonic::Status;

fn sluicectl(socket: &Path, words: &[&str]) -> Output {
    Command::cargo_bin("sluicectl").unwrap().arg("--socket").arg(socket).args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn policy(state: PolicyState) -> StatusReply {
    let policy = PolicyStatus { name: "web".into(), state: state.into(), ..PolicyStatus::default() };
    StatusReply { policies: vec![policy], ..StatusReply::default() }
}

#[test]
fn status_asks_and_shows() {
    let agent = RunningAgent::start(Ok(policy(PolicyState::InForce)));
    let output = sluicectl(&agent.socket(), &["status"]);
    assert_eq!(output.status.code(), Some(0));
    // Half a second of sampling, unless told otherwise.
    assert!(
        text(&output.stdout).starts_with("Agent 9.9.9, pid 500, running for "),
        "{}",
        text(&output.stdout)
    );
    assert!(text(&output.stdout).contains("web     InForce"), "{}", text(&output.stdout));
    let output = sluicectl(&agent.socket(), &["status", "--sample-milliseconds", "0", "-o", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["agent"]["pid"], 0);
    assert_eq!(json["policies"][0]["state"], "InForce");
    let output = sluicectl(&agent.socket(), &["status", "-o", "yaml"]);
    assert!(text(&output.stdout).contains("state: InForce"), "{}", text(&output.stdout));
}

#[test]
fn problems_change_the_exit_code_only_under_check() {
    for (state, code) in [(PolicyState::InForce, 0), (PolicyState::Refused, 1), (PolicyState::LastGood, 1)] {
        let agent = RunningAgent::start(Ok(policy(state)));
        assert_eq!(sluicectl(&agent.socket(), &["status"]).status.code(), Some(0));
        assert_eq!(sluicectl(&agent.socket(), &["status", "--check"]).status.code(), Some(code));
    }
}

#[test]
fn an_agent_that_is_away_is_told_with_exit_code_2() {
    let folder = TempDir::new().unwrap();
    let (absent, stale) = (folder.path().join("absent.sock"), folder.path().join("stale.sock"));
    drop(UnixListener::bind(&stale).unwrap());
    for (socket, what) in [(absent, "there is no socket at"), (stale, "nothing listens on")] {
        let output = sluicectl(&socket, &["status", "--check"]);
        assert_eq!(output.status.code(), Some(2));
        let error = text(&output.stderr);
        assert!(error.starts_with("error: cannot reach the agent: ") && error.contains(what), "{error}");
        assert!(error.contains(socket.to_str().unwrap()) && error.contains("\n  fix: "), "{error}");
        assert_eq!(text(&output.stdout), "");
    }
}

#[test]
fn an_agent_that_goes_away_in_mid_answer_is_told_with_exit_code_2() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("agent.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let closer = std::thread::spawn(move || drop(listener.accept().unwrap()));
    let output = sluicectl(&socket, &["status"]);
    closer.join().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("fix: "), "{}", text(&output.stderr));
}

#[test]
fn an_error_of_the_agent_is_told() {
    let agent = RunningAgent::start(Err(Status::internal("the owner task has ended")));
    let output = sluicectl(&agent.socket(), &["status"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("answered with an error: the owner task has ended\n"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn version_works_with_and_without_an_agent() {
    let agent = RunningAgent::start(Ok(StatusReply::default()));
    let output = sluicectl(&agent.socket(), &["version"]);
    assert_eq!(text(&output.stdout), format!("sluicectl {}\nagent 9.9.9\n", env!("CARGO_PKG_VERSION")));
    let output = sluicectl(Path::new("/nowhere/agent.sock"), &["version"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("agent none (cannot reach the agent"), "{}", text(&output.stdout));
}

#[test]
fn top_without_a_terminal_says_what_to_do_instead() {
    let agent = RunningAgent::start(Ok(StatusReply::default()));
    let output = sluicectl(&agent.socket(), &["top"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("sluicectl status -o json"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn a_wrong_command_line_has_an_exit_code_of_its_own() {
    let nowhere = Path::new("/nowhere/agent.sock");
    for words in [
        &[][..],
        &["statsu"],
        &["status", "-o", "xml"],
        &["explain"],
        &["status", "--sample-milliseconds", "10001"],
    ] {
        assert_eq!(sluicectl(nowhere, words).status.code(), Some(64), "{words:?}");
    }
    assert_eq!(sluicectl(nowhere, &["--help"]).status.code(), Some(0));
}
