//! Marks from a policy to the kernel's own packet: a rule for the mark keeps the packet back from its socket.

use std::fs;

use rstest::rstest;
use sluice_ipc::v1alpha1::{PolicyState, StatusReply};
use sluice_testkit::{Feature, require, wait_until};

use crate::harness::{Node, SOON, counted, drops, exists, interface, policy_status};

const FILTER: &str = "filter add dev DEV ingress pref 50 protocol all u32 match u32 0 0 flowid 1:2";

/// Marks UDP to port 9.
fn marks(node: &Node, mode: &str) -> String {
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpPolicy\nmetadata: {{name: marks}}\nspec:\n  interfaces: [{{names: \
         [{}]}}]\n  mode: {mode}\n  rules:\n  - {{name: voice, match: {{protocol: UDP, destinationPorts: [9]}}, action: \
         {{type: Mark, mark: {{mark: 0x10, priority: 6}}}}}}\n",
        node.device()
    )
}

/// A node whose stack refuses packets with the mark 0x10.
fn node(purpose: &str) -> Option<Node> {
    if !require(Feature::Program("tc")) {
        return None;
    }
    let node = Node::new(purpose)?;
    // The local table stands first and knows no marks: ours comes before it.
    for words in ["rule add pref 5 table local", "rule del pref 0", "rule add pref 1 fwmark 16 prohibit"] {
        node.ip(words);
    }
    Some(node)
}

fn tc(node: &Node, words: &str) -> String {
    node.namespace().call(&format!("tc {}", words.replace("DEV", node.device()))).unwrap()
}

fn shown(node: &Node) -> String {
    ["qdisc show dev DEV", "filter show dev DEV ingress"].map(|words| tc(node, words)).concat()
}

fn tc_pins(node: &Node) -> usize {
    node.pins().iter().filter(|pin| pin.to_string_lossy().contains("/tc_")).count()
}

fn state(status: &StatusReply) -> PolicyState {
    policy_status(status, "marks").map_or(PolicyState::Unspecified, sluice_ipc::v1alpha1::PolicyStatus::state)
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn a_mark_arrives_as_long_as_its_policy_is_there(#[case] mode: &str) {
    let Some(node) = node("marks") else { return };
    tc(&node, "qdisc add dev DEV clsact");
    tc(&node, FILTER);
    let before = shown(&node);
    let mut agent = node.start();
    node.put("policy.yaml", marks(&node, mode));
    agent.wait_for_rules(node.device(), &["voice"]);
    agent.wait("in force", |status| state(status) == PolicyState::InForce);
    // Its own port shows that packets without a mark pass; the one with the mark is refused by the stack.
    node.assert_drops(9);
    node.assert_passes(8);
    agent.kill();
    node.assert_drops(9);
    let agent = node.start();
    let interface = agent.wait_for_rules(node.device(), &["voice"]);
    assert_eq!(counted(&interface, "marks", "voice"), 20);
    assert!(interface.degraded.is_empty() && interface.events.is_empty(), "{interface:?}");
    node.assert_drops(9);
    node.put("policy.yaml", drops("marks", node.device(), "Auto", &[11]));
    agent.wait_for_rules(node.device(), &["port-11"]);
    wait_until(SOON, "the TC program is gone", || tc_pins(&node) == 0);
    node.assert_passes(9);
    assert_eq!(shown(&node), before);
    node.put("policy.yaml", marks(&node, mode));
    agent.wait_for_rules(node.device(), &["voice"]);
    node.assert_drops(9);
    node.remove("policy.yaml");
    agent.wait_until_off(node.device());
    assert_eq!((tc_pins(&node), node.program()), (0, None));
    node.assert_passes(9);
    assert_eq!(shown(&node), before);
}

#[test]
fn a_mode_changes_under_marks() {
    let Some(node) = node("marks-mode") else { return };
    let agent = node.start();
    for mode in ["Native", "Generic", "Native"] {
        node.put("policy.yaml", marks(&node, mode));
        agent.wait("the mode", |status| {
            interface(status, node.device()).is_some_and(|interface| interface.mode_in_force == mode)
        });
        node.assert_drops(9);
    }
}

#[test]
fn a_dry_run_marks_nothing_and_needs_no_tc_program() {
    let Some(node) = node("marks-dry") else { return };
    let agent = node.start();
    node.put("policy.yaml", marks(&node, "Auto") + "  enforcement: DryRun\n");
    agent.wait_for_rules(node.device(), &["voice"]);
    assert_eq!(tc_pins(&node), 0);
    node.assert_passes(9);
}

/// A filter of somebody else stands at our place, on a kernel without tcx; with tcx a pin that is no link stands there.
#[test]
fn where_nothing_can_apply_marks_the_policy_is_not_programmed_and_says_why() {
    let Some(node) = node("marks-refused") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("marks", node.device(), "Auto", &[11]));
    agent.wait_for_rules(node.device(), &["port-11"]);
    let folder = node.pin_path().join(node.lab.node.ifindex.to_string());
    let program = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let program = program.into_iter().find(|path| path.to_string_lossy().contains("/program_")).unwrap();
    // The pin of another kind of object where the link should be.
    let foreign = folder.join("tc_link");
    node.namespace()
        .call(&format!("bpftool prog pin pinned {} {}", program.display(), foreign.display()))
        .unwrap();
    node.put("policy.yaml", marks(&node, "Auto"));
    let status = agent.wait("not programmed", |status| state(status) == PolicyState::NotProgrammed);
    let interface = interface(&status, node.device()).unwrap();
    assert_eq!(interface.reason, "StepFailed");
    assert!(interface.message.contains("what was in force stays"), "{}", interface.message);
    node.assert_drops(11);
    node.assert_passes(9);
    fs::remove_file(&foreign).unwrap();
    agent.kill();
    let agent = node.start();
    agent.wait("in force", |status| state(status) == PolicyState::InForce);
    assert!(exists(&foreign) || tc_pins(&node) > 0);
    node.assert_drops(9);
}

#[test]
fn a_tc_program_that_somebody_takes_off_comes_back() {
    if !require(Feature::Tcx) || !require(Feature::Program("bpftool")) {
        return;
    }
    let Some(node) = node("marks-lost") else { return };
    let agent = node.start();
    node.put("policy.yaml", marks(&node, "Auto"));
    agent.wait_for_rules(node.device(), &["voice"]);
    let pin = node.pin_path().join(node.lab.node.ifindex.to_string()).join("tc_link");
    node.namespace().call(&format!("bpftool link detach pinned {}", pin.display())).unwrap();
    node.assert_passes(9);
    // A question is what makes it look.
    agent.wait("in force", |status| state(status) == PolicyState::InForce);
    wait_until(SOON, "the mark is applied again", || {
        agent.status();
        let sink = node.sink(9);
        node.send(1, 9);
        std::thread::sleep(std::time::Duration::from_millis(100));
        sink.received() == 0
    });
}
