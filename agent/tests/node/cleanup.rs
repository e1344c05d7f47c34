//! The one way to take everything off, and that it leaves nothing.

use rstest::rstest;
use sluice_dataplane::{Error, cleanup};

use crate::harness::{Node, drops};

/// All that the kernel shows of both ends.
fn shown(node: &Node) -> String {
    let mut all = String::new();
    for side in [&node.lab.node, &node.lab.peer] {
        for words in ["ip -details link show", "tc qdisc show", "tc filter show dev DEVICE ingress"] {
            all += &side.namespace.call(&words.replace("DEVICE", &side.device)).unwrap();
        }
        for option in ["--show-features", "--show-channels", "--show-ring", "--show-coalesce"] {
            // Not every driver has every kind of setting; then it has it neither before nor after.
            let words = format!("ethtool {option} {}", side.device);
            all += &side.namespace.call(&words).unwrap_or_else(|error| format!("{error}\n"));
        }
    }
    all
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn a_cleanup_leaves_no_pin_link_program_queueing_or_changed_setting(#[case] mode: &'static str) {
    let Some(node) = Node::new("cleanup") else { return };
    let before = shown(&node);
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.put("policy.yaml", drops("web", node.device(), mode, &[9, 10]));
    agent.wait_for_rules(node.device(), &["port-9", "port-10"]);
    assert_ne!(shown(&node), before, "the comparison sees a program");
    agent.terminate();
    let removed = cleanup::run(&node.pin_path()).unwrap();
    assert_eq!(removed.interfaces, [node.lab.node.ifindex]);
    assert_eq!(shown(&node), before);
    assert!(!node.pin_path().exists());
    assert!(node.pins().is_empty(), "{:?}", node.pins());
    node.assert_passes(9);
}

#[test]
fn a_cleanup_beside_a_running_agent_is_refused_and_changes_nothing() {
    let Some(node) = Node::new("refuse") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    assert!(matches!(cleanup::run(&node.pin_path()), Err(Error::InUse { .. })));
    assert_eq!(node.program().unwrap().id, before.program_id);
    node.assert_drops(9);
}

#[test]
fn an_agent_after_a_cleanup_begins_anew() {
    let Some(node) = Node::new("anew") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    agent.kill();
    cleanup::run(&node.pin_path()).unwrap();
    node.assert_passes(9);
    let agent = node.start();
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.assert_drops(9);
}
