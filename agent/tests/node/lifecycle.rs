//! Agents come and go; what is attached stays until a policy decides otherwise.

use std::{fs, process::Stdio};

use rstest::rstest;
use rustix::process::Signal;
use sluice_testkit::wait_until;

use crate::harness::{
    Agent, BeforeSwap, Moment, Node, SOON, counted, drops, exists, interface, policy_status, wait_for_exit,
};

/// The ways to go that no agent can refuse, or is asked to take.
const SIGNALS: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::KILL, Signal::ABORT];

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn no_way_to_end_detaches_and_the_next_agent_adopts(#[case] mode: &'static str) {
    let Some(node) = Node::new("end") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    let first = agent.wait_for_rules(node.device(), &["port-9"]);
    for signal in SIGNALS {
        agent.signal(signal);
        assert_eq!(node.program().unwrap().id, first.program_id, "after {signal:?}");
        node.assert_drops(9);
        agent = node.start();
        let adopted = agent.wait_for_rules(node.device(), &["port-9"]);
        assert_eq!(
            (adopted.link_id, adopted.program_id),
            (first.link_id, first.program_id),
            "after {signal:?}"
        );
        assert_eq!((adopted.mode_in_force.as_str(), &adopted.revision), (mode, &first.revision));
    }
}

#[test]
fn an_orderly_stop_is_a_success() {
    let Some(node) = Node::new("stop") else { return };
    let mut agent = node.start();
    assert!(agent.terminate().success());
    let mut agent = node.start();
    assert!(agent.signal(Signal::INT).success());
}

#[test]
fn counters_outlive_the_agent() {
    let Some(node) = Node::new("counters") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.assert_drops(9);
    agent.kill();
    node.assert_drops(9);
    let agent = node.start();
    let interface = agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!(counted(&interface, "web", "port-9"), 20);
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn a_policy_that_changed_meanwhile_is_swapped_in_under_the_same_link(#[case] mode: &'static str) {
    let Some(node) = Node::new("meanwhile") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    agent.kill();
    node.put("policy.yaml", drops("web", node.device(), mode, &[10]));
    let agent = node.start();
    let after = agent.wait_for_rules(node.device(), &["port-10"]);
    assert_eq!(before.link_id, after.link_id);
    assert_ne!(before.program_id, after.program_id);
    node.assert_drops(10);
    node.assert_passes(9);
}

#[rstest]
#[case::to_native("Generic", "Native")]
#[case::to_generic("Native", "Generic")]
fn a_mode_that_changed_meanwhile_is_carried_out(#[case] before: &'static str, #[case] after: &'static str) {
    let Some(node) = Node::new("mode") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), before, &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    agent.terminate();
    node.put("policy.yaml", drops("web", node.device(), after, &[9]));
    let agent = node.start();
    agent.wait("the other mode", |status| {
        interface(status, node.device()).is_some_and(|interface| interface.mode_in_force == after)
    });
    assert_eq!(node.program().unwrap().mode, after);
}

#[test]
fn a_policy_that_was_removed_meanwhile_is_taken_off_at_the_start() {
    let Some(node) = Node::new("removed") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    agent.terminate();
    node.remove("policy.yaml");
    let agent = node.start();
    agent.wait_until_off(node.device());
    assert_eq!(node.program(), None);
    assert!(node.pins().is_empty(), "{:?}", node.pins());
}

#[test]
fn an_interface_that_went_meanwhile_leaves_no_pins() {
    let Some(node) = Node::new("gone") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    agent.terminate();
    node.ip(&format!("link delete {}", node.device()));
    let agent = node.start();
    agent.wait("the policy", |status| policy_status(status, "web").is_some());
    assert!(node.pins().is_empty(), "{:?}", node.pins());
}

#[test]
fn a_second_agent_on_the_same_pins_refuses_and_the_first_goes_on() {
    let Some(node) = Node::new("second") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    // A socket and a state of its own: the pins alone must keep it out.
    let mut second = Agent::command_with(&node, &node.path("second"), &node.path("second.sock"));
    let mut second = second.stderr(Stdio::piped()).spawn().unwrap();
    let ended = wait_for_exit(&mut second);
    let said = std::io::read_to_string(second.stderr.take().unwrap()).unwrap();
    assert!(!ended.success(), "{said}");
    assert!(said.contains(&node.pin_path().display().to_string()), "it names the folder: {said}");
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9, 10]));
    let after = agent.wait_for_rules(node.device(), &["port-9", "port-10"]);
    assert_eq!(before.link_id, after.link_id);
}

#[test]
fn what_a_kill_leaves_before_the_link_is_pinned_is_put_right() {
    let Some(node) = Node::new("leftover") else { return };
    // A folder with counters and a program and no link: the kernel has detached what was not pinned.
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    agent.kill();
    let link = node.pin_path().join(node.lab.node.ifindex.to_string()).join("link");
    fs::remove_file(&link).unwrap();
    wait_until(SOON, "the kernel has detached it", || node.program().is_none());
    let agent = node.start();
    let interface = agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!(node.program().unwrap().id, interface.program_id);
    assert!(exists(&link));
    node.assert_drops(9);
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn kills_in_the_middle_of_a_swap_never_open_a_gap(#[case] mode: &'static str) {
    let Some(node) = Node::new("middle") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    let first = agent.wait_for_rules(node.device(), &["port-9"]);
    for round in 0..10u16 {
        let extra = 20_000 + round;
        let before = BeforeSwap::of(&node);
        node.put("policy.yaml", drops("web", node.device(), mode, &[9, extra]));
        before.wait_for(Moment::of_round(round));
        agent.kill();
        assert!(node.program().is_some(), "round {round}");
        agent = node.start();
        let interface = agent.wait_for_rules(node.device(), &["port-9", &format!("port-{extra}")]);
        assert_eq!(interface.link_id, first.link_id, "round {round}");
    }
    node.assert_drops(9);
    assert_eq!(node.program_pins().len(), 1, "{:?}", node.pins());
}

#[test]
fn the_socket_of_a_dead_agent_is_replaced_and_only_root_can_open_it() {
    use std::os::unix::fs::MetadataExt as _;
    let Some(node) = Node::new("socket") else { return };
    node.start().kill();
    assert!(exists(&node.path("agent.sock")), "a killed agent cannot remove it");
    let _agent = node.start();
    assert_eq!(fs::metadata(node.path("agent.sock")).unwrap().mode() & 0o777, 0o600);
}
