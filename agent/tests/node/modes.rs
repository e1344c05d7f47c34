//! Which mode is in force, and why it is not the one that was asked for.

use rstest::rstest;
use sluice_ipc::v1alpha1::{InterfaceStatus, PolicyState, StatusReply};
use sluice_testkit::VethLab;

use crate::harness::{Node, PolicyText, can_run, drops, interface, policy_rules, policy_status, program};

/// A device whose driver has no XDP.
const PLAIN: &str = "plain0";

fn with_plain_device(purpose: &str) -> Option<Node> {
    let node = Node::new(purpose)?;
    node.ip(&format!("link add {PLAIN} type ifb"));
    node.ip(&format!("link set dev {PLAIN} up"));
    Some(node)
}

fn has_reason<'a>(status: &'a StatusReply, device: &str, reason: &str) -> Option<&'a InterfaceStatus> {
    interface(status, device).filter(|interface| interface.reason == reason)
}

#[test]
fn native_on_a_driver_without_xdp_is_refused_and_nothing_is_attached() {
    let Some(node) = with_plain_device("fail-closed") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", PLAIN, "Native", &[9]));
    let status = agent.wait("the refusal", |status| has_reason(status, PLAIN, "DriverNoXdp").is_some());
    let refused = interface(&status, PLAIN).unwrap();
    assert_eq!((refused.mode_asked.as_str(), refused.mode_in_force.as_str()), ("Native", ""));
    assert_eq!((refused.program_id, refused.link_id, refused.verified.as_str()), (0, 0, ""));
    assert!(refused.message.contains(PLAIN) && refused.message.contains("ifb"), "{}", refused.message);
    let policy = policy_status(&status, "web").unwrap();
    assert_eq!(policy.state(), PolicyState::NotProgrammed);
    assert!(policy.interfaces.is_empty());
    assert_eq!(program(node.namespace(), PLAIN), None);
    assert!(node.pins().is_empty(), "{:?}", node.pins());
}

#[test]
fn auto_on_a_driver_without_xdp_is_generic_and_says_why_also_after_a_restart() {
    let Some(node) = with_plain_device("fallback") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", PLAIN, "Auto", &[9]));
    let before = agent.wait_for_rules(PLAIN, &["port-9"]);
    let check = |interface: &InterfaceStatus| {
        assert_eq!((interface.mode_asked.as_str(), interface.mode_in_force.as_str()), ("Auto", "Generic"));
        assert_eq!(interface.reason, "DriverNoXdp");
        assert!(interface.message.contains(PLAIN), "{}", interface.message);
    };
    check(&before);
    assert_eq!(program(node.namespace(), PLAIN).unwrap().mode, "Generic");
    agent.kill();
    let agent = node.start();
    let after = agent.wait_for_rules(PLAIN, &["port-9"]);
    check(&after);
    assert_eq!((before.link_id, before.program_id), (after.link_id, after.program_id));
}

#[test]
fn a_refusal_is_not_repeated_while_nothing_changes_and_forgotten_with_the_policy() {
    let Some(node) = with_plain_device("forget") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", PLAIN, "Auto", &[9]));
    let before = agent.wait_for_rules(PLAIN, &["port-9"]);
    node.ip("link add other0 type veth peer name other1");
    node.put("policy.yaml", drops("web", PLAIN, "Auto", &[9, 10]));
    let after = agent.wait_for_rules(PLAIN, &["port-9", "port-10"]);
    assert_eq!(before.link_id, after.link_id, "native is not tried again");
    node.put("policy.yaml", drops("web", PLAIN, "Generic", &[9]));
    let generic = agent.wait_for_rules(PLAIN, &["port-9"]);
    assert_eq!((generic.mode_in_force.as_str(), generic.reason.as_str()), ("Generic", ""));
    assert_eq!(before.link_id, generic.link_id, "it runs in that mode already");
}

#[test]
fn auto_after_generic_becomes_native_where_the_driver_can() {
    let Some(node) = Node::new("upgrade") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Generic", &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    agent.wait("native mode", |status| {
        interface(status, node.device()).is_some_and(|interface| interface.mode_in_force == "Native")
    });
    assert_eq!(node.program().unwrap().mode, "Native");
}

#[test]
fn auto_after_generic_says_why_it_stays_generic_where_the_driver_cannot() {
    let Some(node) = with_plain_device("stay") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", PLAIN, "Generic", &[9]));
    assert_eq!(agent.wait_for_rules(PLAIN, &["port-9"]).reason, "");
    node.put("policy.yaml", drops("web", PLAIN, "Auto", &[9]));
    let status = agent.wait("the reason", |status| has_reason(status, PLAIN, "DriverNoXdp").is_some());
    assert_eq!(interface(&status, PLAIN).unwrap().mode_in_force, "Generic");
}

#[rstest]
#[case::to_generic("Native", "Generic")]
#[case::to_native("Generic", "Native")]
fn another_mode_is_attached_anew(#[case] before: &'static str, #[case] after: &'static str) {
    let Some(node) = Node::new("change") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), before, &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.put("policy.yaml", drops("web", node.device(), after, &[9]));
    agent.wait("the other mode", |status| {
        interface(status, node.device()).is_some_and(|interface| interface.mode_in_force == after)
    });
    assert_eq!(node.program().unwrap().mode, after);
    node.assert_drops(9);
}

#[test]
fn a_veth_with_too_few_receive_queues_becomes_native_when_it_has_enough() {
    if !can_run() {
        return;
    }
    let lab = VethLab::options("queues").silent().queues(2).build().unwrap();
    lab.node.namespace.call(&format!("ethtool --set-channels {} rx 1", lab.node.device)).unwrap();
    let node = Node::around(lab, "queues");
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    let status = agent.status();
    let generic = has_reason(&status, node.device(), "NotEnoughQueues").expect("the reason");
    assert_eq!(generic.mode_in_force, "Generic");
    assert!(generic.message.contains(" 1 receive queue"), "{}", generic.message);
    node.namespace().call(&format!("ethtool --set-channels {} rx 2", node.device())).unwrap();
    agent.wait("native mode", |status| interface(status, node.device()).unwrap().mode_in_force == "Native");
    let status = agent.status();
    assert!(has_reason(&status, node.device(), "").is_some(), "no reason is left");
    node.assert_drops(9);
}

#[test]
fn of_two_policies_that_want_different_modes_the_first_one_has_its_way() {
    let Some(node) = Node::new("conflict") else { return };
    let agent = node.start();
    let first = PolicyText::new("first", node.device(), "Native").priority(10).rule("nine", 9, "Drop");
    let second = PolicyText::new("second", node.device(), "Generic").priority(20).rule("ten", 10, "Drop");
    node.put("first.yaml", first.yaml());
    node.put("second.yaml", second.yaml());
    let status = agent.wait("the conflict", |status| {
        policy_status(status, "second").is_some_and(|policy| policy.state() == PolicyState::Conflict)
    });
    let policy = policy_status(&status, "second").unwrap();
    assert_eq!(policy.warnings[0].reason, "ModeConflict");
    assert!(policy.warnings[0].message.contains("first"), "{}", policy.warnings[0].message);
    assert!(policy.interfaces.is_empty());
    let interface = agent.wait_for_rules(node.device(), &["nine"]);
    assert_eq!((interface.mode_in_force.as_str(), interface.policies), ("Native", vec!["first".to_owned()]));
    node.assert_passes(10);
    node.remove("first.yaml");
    let interface = agent.wait_for_rules(node.device(), &["ten"]);
    assert_eq!(interface.mode_in_force, "Generic");
}

#[test]
fn auto_follows_a_later_policy_that_wants_a_mode() {
    let Some(node) = Node::new("follow") else { return };
    let agent = node.start();
    node.put(
        "a.yaml",
        PolicyText::new("a", node.device(), "Auto").priority(10).rule("nine", 9, "Drop").yaml(),
    );
    node.put(
        "b.yaml",
        PolicyText::new("b", node.device(), "Generic").priority(20).rule("ten", 10, "Drop").yaml(),
    );
    let interface = agent.wait_for_rules(node.device(), &["nine", "ten"]);
    assert_eq!((interface.mode_asked.as_str(), interface.mode_in_force.as_str()), ("Generic", "Generic"));
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn policies_are_evaluated_by_priority_and_then_by_name(#[case] mode: &'static str) {
    let Some(node) = Node::new("order") else { return };
    let agent = node.start();
    let policy = |name: &str| PolicyText::new(name, node.device(), mode);
    node.put("1.yaml", policy("b-third").rule("pass9", 9, "Pass").rule("drop10", 10, "Drop").yaml());
    node.put("2.yaml", policy("a-second").rule("drop9", 9, "Drop").yaml());
    node.put(
        "3.yaml",
        policy("z-first").priority(10).rule("count9", 9, "Count").rule("pass10", 10, "Pass").yaml(),
    );
    let all = ["count9", "pass10", "drop9", "pass9", "drop10"];
    let interface = agent.wait_for_rules(node.device(), &all);
    assert_eq!(interface.policies, ["z-first", "a-second", "b-third"]);
    node.assert_drops(9);
    node.assert_passes(10);
    let interface = agent.wait_for_rules(node.device(), &all);
    let counted: Vec<_> = policy_rules(&interface).map(|rule| rule.packets).collect();
    assert_eq!(counted, [10, 3, 10, 0, 0]);
}
