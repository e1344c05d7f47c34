//! Input that cannot be used: what was in force stays in force, and status says what is wrong and where.

use std::{fs, os::unix::fs::symlink, path::Path};

use rstest::rstest;
use sluice_ipc::v1alpha1::{PolicyState, Problem, StatusReply};
use sluice_testkit::wait_until;

use crate::harness::{Agent, Node, SOON, drops, interface, policy_status, problems};

/// Makes a bad file of a good one.
type Spoil = fn(&str) -> Vec<u8>;

const FIELD_UNKNOWN: (Spoil, &str, &str) = (
    |good| good.replace("protocol: UDP", "protocol: UDP, protocolName: TCP").into(),
    "UnknownField",
    "spec.rules[0].match.protocolName",
);
const FIELD_NOT_IMPLEMENTED: (Spoil, &str, &str) = (
    |good| good.replace("spec:\n", "spec:\n  nodeSelector: {matchLabels: {zone: a}}\n").into(),
    "NotImplemented",
    "spec.nodeSelector",
);
const WRONG_TYPE: (Spoil, &str, &str) =
    (|good| good.replace("priority: 100", "priority: high").into(), "WrongType", "spec.priority");
const PORT_TOO_LARGE: (Spoil, &str, &str) = (
    |good| good.replace("\"9\"", "\"70000\"").into(),
    "InvalidPort",
    "spec.rules[0].match.destinationPorts[0]",
);
const RANGE_REVERSED: (Spoil, &str, &str) = (
    |good| good.replace("\"9\"", "\"200-100\"").into(),
    "InvalidPort",
    "spec.rules[0].match.destinationPorts[0]",
);
const NAME_TWICE: (Spoil, &str, &str) =
    (|good| format!("{good}---\n{good}").into(), "DuplicateName", "metadata.name");
const EMPTY: (Spoil, &str, &str) = (|_| Vec::new(), "EmptyFile", "");
const ONLY_A_COMMENT: (Spoil, &str, &str) = (|_| b"# nothing yet\n".to_vec(), "EmptyFile", "");
const TEN_MEGABYTES: (Spoil, &str, &str) =
    (|good| format!("{good}# {}\n", "x".repeat(10 << 20)).into(), "FileTooLarge", "");
const NOT_UTF8: (Spoil, &str, &str) = (|good| [good.as_bytes(), b"# \xff\xfe\n"].concat(), "NotUtf8", "");
const NOT_YAML: (Spoil, &str, &str) = (|good| format!("{good}}}{{[").into(), "NotYaml", "");
const CUT_SHORT: (Spoil, &str, &str) = (|good| good.as_bytes()[..good.len() - 12].to_vec(), "NotYaml", "");

fn good(node: &Node, ports: &[u16]) -> String {
    drops("web", node.device(), "Auto", ports)
}

/// An agent with a policy that drops UDP port 9.
fn started(node: &Node) -> Agent {
    let agent = node.start();
    node.put("policy.yaml", good(node, &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    agent
}

fn is_last_good(status: &StatusReply) -> bool {
    policy_status(status, "web").is_some_and(|policy| policy.state() == PolicyState::LastGood)
}

fn assert_problem(status: &StatusReply, reason: &str, field: &str) {
    let names_it = |problem: &Problem| {
        problem.file == "policy.yaml"
            && problem.reason == reason
            && problem.field == field
            && !problem.fix.is_empty()
    };
    assert!(problems(status).any(names_it), "{reason} in {field:?} of policy.yaml");
}

#[rstest]
#[case::unknown_field(FIELD_UNKNOWN)]
#[case::field_that_is_not_implemented(FIELD_NOT_IMPLEMENTED)]
#[case::wrong_type(WRONG_TYPE)]
#[case::port_70000(PORT_TOO_LARGE)]
#[case::range_reversed(RANGE_REVERSED)]
#[case::name_twice_in_one_file(NAME_TWICE)]
#[case::empty_file(EMPTY)]
#[case::only_a_comment(ONLY_A_COMMENT)]
#[case::ten_megabytes(TEN_MEGABYTES)]
#[case::not_utf8(NOT_UTF8)]
#[case::not_yaml(NOT_YAML)]
#[case::cut_short(CUT_SHORT)]
fn a_bad_file_keeps_the_last_good_policy_in_force(#[case] (spoil, reason, field): (Spoil, &str, &str)) {
    let Some(node) = Node::new("bad") else { return };
    let mut agent = started(&node);
    let before = node.program();
    node.put("policy.yaml", spoil(&good(&node, &[9])));
    assert_problem(&agent.wait("the problem", is_last_good), reason, field);
    assert!(agent.log().contains(reason), "the log says so too");
    assert_eq!(node.program(), before);
    node.assert_drops(9);
    // And so over a restart.
    wait_until(SOON, "the last good policy is kept", || {
        fs::exists(node.path("state/last-good.json")).unwrap()
    });
    agent.kill();
    let agent = node.start();
    assert_problem(&agent.wait("the problem again", is_last_good), reason, field);
    assert_eq!(node.program(), before);
    node.assert_drops(9);
    // A good file ends it.
    node.put("policy.yaml", good(&node, &[9, 10]));
    agent.wait_for_rules(node.device(), &["port-9", "port-10"]);
    let status = agent.status();
    assert_eq!(policy_status(&status, "web").unwrap().state(), PolicyState::InForce);
    assert_eq!(problems(&status).count(), 0);
}

#[rstest]
#[case::unknown_field(FIELD_UNKNOWN)]
#[case::field_that_is_not_implemented(FIELD_NOT_IMPLEMENTED)]
#[case::wrong_type(WRONG_TYPE)]
#[case::port_70000(PORT_TOO_LARGE)]
#[case::range_reversed(RANGE_REVERSED)]
#[case::name_twice_in_one_file(NAME_TWICE)]
#[case::empty_file(EMPTY)]
#[case::ten_megabytes(TEN_MEGABYTES)]
#[case::not_utf8(NOT_UTF8)]
#[case::not_yaml(NOT_YAML)]
#[case::cut_short(CUT_SHORT)]
fn a_bad_file_that_was_never_good_is_refused_and_others_are_not(
    #[case] (spoil, reason, field): (Spoil, &str, &str),
) {
    let Some(node) = Node::new("refused") else { return };
    let agent = node.start();
    node.put("policy.yaml", spoil(&drops("bad", node.device(), "Auto", &[9])));
    node.put("other.yaml", drops("other", node.device(), "Auto", &[10]));
    agent.wait_for_rules(node.device(), &["port-10"]);
    let status =
        agent.wait("the problem", |status| problems(status).any(|problem| problem.file == "policy.yaml"));
    assert_problem(&status, reason, field);
    let refused = status.policies.iter().find(|policy| !policy.problems.is_empty()).unwrap();
    assert_eq!((refused.state(), refused.file.as_str()), (PolicyState::Refused, "policy.yaml"));
    node.assert_drops(10);
    node.assert_passes(9);
}

#[test]
fn one_name_in_two_files_keeps_what_was_in_force_and_names_both() {
    let Some(node) = Node::new("twice") else { return };
    let agent = started(&node);
    node.put("second.yaml", good(&node, &[10]));
    let status = agent.wait("the problem", is_last_good);
    assert_problem(&status, "DuplicateName", "metadata.name");
    let files: Vec<_> = problems(&status).map(|problem| problem.file.as_str()).collect();
    assert!(files.contains(&"second.yaml"), "{files:?}");
    node.assert_drops(9);
    node.remove("policy.yaml");
    agent.wait_for_rules(node.device(), &["port-10"]);
}

#[test]
fn a_bad_document_does_not_hold_up_the_good_ones_of_its_file() {
    let Some(node) = Node::new("mixed") else { return };
    let agent = started(&node);
    let bad = String::from_utf8(RANGE_REVERSED.0(&good(&node, &[9]))).unwrap();
    node.put("policy.yaml", format!("{bad}---\n{}", drops("other", node.device(), "Auto", &[10])));
    agent.wait_for_rules(node.device(), &["port-10", "port-9"]);
    assert!(is_last_good(&agent.status()));
}

fn put_a_pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
}

fn put_a_dangling_link(path: &Path) {
    symlink("nowhere.yaml", path).unwrap();
}

fn put_a_link_to_itself(path: &Path) {
    symlink("policy.yaml", path).unwrap();
}

#[rstest]
#[case::pipe(put_a_pipe)]
#[case::dangling_link(put_a_dangling_link)]
#[case::link_to_itself(put_a_link_to_itself)]
fn something_that_is_no_file_keeps_the_last_good_policy_in_force(#[case] put: fn(&Path)) {
    let Some(node) = Node::new("odd") else { return };
    let agent = started(&node);
    let before = node.program();
    put(&node.path("aside"));
    fs::rename(node.path("aside"), node.policies().join("policy.yaml")).unwrap();
    let status = agent.wait("the problem", is_last_good);
    assert!(problems(&status).any(|problem| problem.file == "policy.yaml"));
    assert_eq!(node.program(), before);
    node.assert_drops(9);
    node.put("policy.yaml", good(&node, &[10]));
    agent.wait_for_rules(node.device(), &["port-10"]);
}

#[test]
fn a_folder_that_vanishes_changes_nothing_and_is_read_when_it_returns() {
    let Some(node) = Node::new("vanish") else { return };
    let mut agent = started(&node);
    let before = node.program();
    fs::rename(node.policies(), node.path("away")).unwrap();
    let names_it = |status: &StatusReply| {
        let folder = node.policies().display().to_string();
        status.agent.as_ref().unwrap().problems.iter().any(|problem| problem.contains(&folder))
    };
    agent.wait("the problem with the folder", names_it);
    assert_eq!(node.program(), before);
    // And so over a restart.
    agent.kill();
    let agent = node.start();
    agent.wait("the problem with the folder", names_it);
    assert_eq!(node.program(), before);
    node.assert_drops(9);
    fs::write(node.path("away/policy.yaml"), good(&node, &[10])).unwrap();
    fs::rename(node.path("away"), node.policies()).unwrap();
    agent.wait_for_rules(node.device(), &["port-10"]);
    agent.wait("the end of the problem", |status| status.agent.as_ref().unwrap().problems.is_empty());
}

#[test]
fn a_bad_file_without_a_last_good_one_does_not_take_an_adopted_program_off() {
    let Some(node) = Node::new("unsure") else { return };
    let mut agent = started(&node);
    let before = node.program();
    agent.kill();
    fs::remove_dir_all(node.path("state")).unwrap();
    node.put("policy.yaml", NOT_YAML.0(&good(&node, &[9])));
    let agent = node.start();
    let status = agent.wait("the problem", |status| problems(status).count() == 1);
    let kept = interface(&status, node.device()).expect("it is named");
    assert_eq!((kept.reason.as_str(), kept.mode_in_force.as_str()), ("PolicyUnreadable", "Native"));
    assert_eq!(kept.program_id, before.as_ref().unwrap().id);
    assert_eq!(node.program(), before);
    node.assert_drops(9);
    node.put("policy.yaml", good(&node, &[9]));
    agent.wait("the good policy", |status| policy_status(status, "web").is_some());
    assert_eq!(node.program(), before);
}

#[test]
fn a_damaged_store_of_last_good_policies_is_set_aside_and_told() {
    let Some(node) = Node::new("store") else { return };
    let mut agent = started(&node);
    let before = node.program();
    agent.terminate();
    fs::write(node.path("state/last-good.json"), "{").unwrap();
    let agent = node.start();
    agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!(node.program(), before);
    let log = agent.log();
    assert!(log.contains("last-good.json"), "{log}");
}
