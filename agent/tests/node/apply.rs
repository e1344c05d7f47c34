//! From a policy file to packets that do not arrive, and back.

use crate::harness::{Node, SOON, drops, interface, policy_rules, policy_status};
use rstest::rstest;
use sluice_ipc::v1alpha1::{InterfaceStatus, PolicyState};
use sluice_testkit::{Feature, require, wait_until};

/// Length of a datagram of one byte in its Ethernet frame.
const FRAME_BYTES: u64 = 14 + 20 + 8 + 1;

fn outcome(interface: &InterfaceStatus, name: &str) -> (u64, u64) {
    let found = interface.outcomes.iter().find(|outcome| outcome.outcome == name).unwrap();
    (found.packets, found.bytes)
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn a_policy_file_drops_what_it_says_and_nothing_else(#[case] mode: &'static str) {
    let Some(node) = Node::new("apply") else { return };
    let agent = node.start();
    node.assert_passes(9);
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.assert_drops(9);
    node.assert_passes(8);
    node.assert_passes(10);
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn status_says_what_the_kernel_says(#[case] mode: &'static str) {
    let Some(node) = Node::new("status") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    let interface = agent.wait_for_rules(node.device(), &["port-9"]);
    let program = node.program().unwrap();
    assert_eq!((program.mode, program.id), (mode, interface.program_id));
    assert_eq!((interface.mode_asked.as_str(), interface.mode_in_force.as_str()), (mode, mode));
    assert_eq!((interface.reason.as_str(), interface.message.as_str()), ("", ""));
    assert_eq!(interface.foreign_program, None);
    assert_eq!((interface.driver.as_str(), interface.mtu, interface.rx_queues), ("veth", 1500, 1));
    assert_eq!(interface.ifindex, node.lab.node.ifindex);
    assert_eq!(interface.revision.len(), 16, "{}", interface.revision);
    assert_eq!(interface.policies, ["web"]);
    let status = agent.status();
    let policy = policy_status(&status, "web").unwrap();
    assert_eq!(policy.state(), PolicyState::InForce);
    assert_eq!(policy.interfaces, [node.device()]);
    assert!(policy.file.ends_with("policy.yaml"), "{}", policy.file);
    assert!(policy.problems.is_empty() && policy.warnings.is_empty(), "{policy:?}");
}

#[test]
fn auto_is_native_where_the_driver_can_and_nothing_needs_a_reason() {
    let Some(node) = Node::new("auto") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    let interface = agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!((interface.mode_asked.as_str(), interface.mode_in_force.as_str()), ("Auto", "Native"));
    assert_eq!(interface.reason, "");
}

#[test]
fn the_link_that_status_names_is_the_pinned_one() {
    if !require(Feature::Program("bpftool")) {
        return;
    }
    let Some(node) = Node::new("link") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    let interface = agent.wait_for_rules(node.device(), &["port-9"]);
    let pin = node.pin_path().join(node.lab.node.ifindex.to_string()).join("link");
    let shown = node.namespace().call(&format!("bpftool --json link show pinned {}", pin.display())).unwrap();
    let link: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(link["id"], interface.link_id);
    assert_eq!(link["prog_id"], interface.program_id);
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn a_program_is_verified_once_it_has_seen_a_packet_and_not_before(#[case] mode: &'static str) {
    let Some(node) = Node::new("proof") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!(before.verified, "Unverified (no traffic yet)");
    node.send(1, 9);
    agent.wait("the proof", |status| interface(status, node.device()).unwrap().verified == "Verified");
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn every_packet_is_counted_once_by_outcome_and_by_rule(#[case] mode: &'static str) {
    let Some(node) = Node::new("count") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9, 11]));
    agent.wait_for_rules(node.device(), &["port-9", "port-11"]);
    let sink = node.sink(40_000);
    node.send(10, 9);
    node.send(4, 11);
    node.send(5, 40_000);
    wait_until(SOON, "the packets that pass", || sink.received() == 5);
    let status = agent.status();
    let interface = interface(&status, node.device()).unwrap();
    assert_eq!(outcome(interface, "DropRule"), (14, 14 * FRAME_BYTES));
    assert_eq!(outcome(interface, "PassNoMatch"), (5, 5 * FRAME_BYTES));
    assert_eq!(interface.outcomes.iter().map(|outcome| outcome.packets).sum::<u64>(), 19);
    let rules: Vec<_> =
        policy_rules(interface).map(|rule| (rule.rule.as_str(), rule.packets, rule.bytes)).collect();
    assert_eq!(rules, [("port-9", 10, 10 * FRAME_BYTES), ("port-11", 4, 4 * FRAME_BYTES)]);
    assert!(interface.malformed.is_empty(), "{:?}", interface.malformed);
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn a_changed_file_is_swapped_in_under_the_same_link(#[case] mode: &'static str) {
    let Some(node) = Node::new("swap") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    node.put("policy.yaml", drops("web", node.device(), mode, &[10]));
    let after = agent.wait_for_rules(node.device(), &["port-10"]);
    assert_eq!(before.link_id, after.link_id);
    assert_ne!(before.program_id, after.program_id);
    assert_ne!(before.revision, after.revision);
    assert_eq!(node.program().unwrap().id, after.program_id);
    node.assert_drops(10);
    node.assert_passes(9);
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn a_removed_file_takes_the_program_off(#[case] mode: &'static str) {
    let Some(node) = Node::new("remove") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.remove("policy.yaml");
    agent.wait_until_off(node.device());
    assert_eq!(node.program(), None);
    assert!(node.pins().is_empty(), "{:?}", node.pins());
    assert!(agent.status().policies.is_empty());
    node.assert_passes(9);
}

#[test]
fn a_rewritten_file_with_the_same_content_changes_nothing() {
    let Some(node) = Node::new("same") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    // A second policy tells when the agent has read the folder again.
    node.put("other.yaml", drops("other", "absent0", "Auto", &[9]));
    agent.wait("the second policy", |status| policy_status(status, "other").is_some());
    let status = agent.status();
    let after = interface(&status, node.device()).unwrap();
    assert_eq!((before.link_id, before.program_id), (after.link_id, after.program_id));
}

#[test]
fn a_policy_that_matches_no_interface_says_so() {
    let Some(node) = Node::new("nowhere") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", "absent0", "Auto", &[9]));
    let status = agent.wait("the policy", |status| policy_status(status, "web").is_some());
    let policy = policy_status(&status, "web").unwrap();
    assert_eq!(policy.state(), PolicyState::NoMatchingInterface);
    assert_eq!(policy.warnings[0].reason, "NothingMatches");
    assert!(status.interfaces.is_empty());
}
