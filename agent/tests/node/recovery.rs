//! What others do to our attachments, and devices that stand in each other's way.

use std::fs;

use sluice_ipc::v1alpha1::InterfaceStatus;
use sluice_testkit::{NetworkNamespace, wait_until};

use crate::harness::{Agent, Node, Program, SOON, counted, drops, interface, program};

/// A device whose driver has no XDP.
const PLAIN: &str = "plain0";

fn on_plain_device(purpose: &str) -> Option<(Node, Agent, InterfaceStatus)> {
    let node = Node::new(purpose)?;
    node.ip(&format!("link add {PLAIN} type ifb"));
    node.ip(&format!("link set dev {PLAIN} up"));
    node.put("policy.yaml", drops("web", PLAIN, "Auto", &[9]));
    let agent = node.start();
    let attached = agent.wait_for_rules(PLAIN, &["port-9"]);
    Some((node, agent, attached))
}

fn on(node: &Node, device: &str) -> Option<Program> {
    program(node.namespace(), device)
}

#[test]
fn a_link_that_somebody_detached_is_attached_again_though_native_stays_refused() {
    let Some((node, agent, before)) = on_plain_device("detached") else { return };
    node.namespace().call(&format!("bpftool link detach id {}", before.link_id)).unwrap();
    assert_eq!(on(&node, PLAIN), None);
    let after = agent.wait_for_rules(PLAIN, &["port-9"]);
    assert_ne!(after.link_id, before.link_id);
    assert_eq!((after.mode_in_force.as_str(), after.reason.as_str()), ("Generic", "DriverNoXdp"));
    assert_eq!(on(&node, PLAIN).unwrap().id, after.program_id);
}

#[test]
fn without_its_state_the_agent_keeps_what_runs_and_says_what_it_does_not_know() {
    let Some((node, mut agent, before)) = on_plain_device("no-state") else { return };
    agent.kill();
    for entry in fs::read_dir(node.path("state")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let agent = node.start();
    let after = agent.wait_for_rules(PLAIN, &["port-9"]);
    assert_eq!((after.link_id, after.program_id), (before.link_id, before.program_id));
    assert_eq!((after.mode_in_force.as_str(), after.reason.as_str()), ("Generic", "Adopted"));
}

#[test]
fn a_change_that_cannot_help_leaves_the_program_on() {
    let Some((node, agent, before)) = on_plain_device("mtu") else { return };
    node.ip(&format!("link set dev {PLAIN} mtu 1400"));
    let status = agent.wait("the new MTU", |status| interface(status, PLAIN).is_some_and(|i| i.mtu == 1400));
    let after = interface(&status, PLAIN).unwrap();
    assert_eq!((after.link_id, after.program_id), (before.link_id, before.program_id));
}

#[test]
fn pins_that_cannot_be_read_do_not_stop_the_agent() {
    let Some(node) = Node::new("bad-pin") else { return };
    node.put("policy.yaml", drops("web", node.device(), "Native", &[9]));
    let mut agent = node.start();
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    agent.kill();
    // A link that is no link, of an interface that is not there.
    let folder = node.pin_path().join("9999");
    fs::create_dir(&folder).unwrap();
    let of_program = format!("bpftool prog pin id {} {}", before.program_id, folder.join("link").display());
    node.namespace().call(&of_program).unwrap();
    let agent = node.start();
    let after = agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!(after.link_id, before.link_id);
}

#[test]
fn a_port_of_a_bridge_that_has_our_program_gets_one_too() {
    let Some(node) = Node::new("way") else { return };
    node.ip("link add bridge0 type bridge");
    node.put("policy.yaml", drops("web", "bridge0, late0", "Auto", &[9]));
    let agent = node.start();
    agent.wait_for_rules("bridge0", &["port-9"]);
    // At once, so that the agent never sees it without its master.
    node.ip("link add late0 master bridge0 type veth peer name late1");
    agent.wait_for_rules("late0", &["port-9"]);
    agent.wait_for_rules("bridge0", &["port-9"]);
    assert_eq!((on(&node, "late0").unwrap().mode, on(&node, "bridge0").unwrap().mode), ("Native", "Generic"));
}

#[test]
fn the_mode_of_a_port_changes_under_a_bridge_with_our_program() {
    let Some(node) = Node::new("port-mode") else { return };
    node.ip("link add bridge0 type bridge");
    node.ip("link add late0 master bridge0 type veth peer name late1");
    node.put("bridge.yaml", drops("bridge", "bridge0", "Auto", &[9]));
    node.put("port.yaml", drops("port", "late0", "Generic", &[9]));
    let agent = node.start();
    agent.wait_for_rules("late0", &["port-9"]);
    // More than once: each change makes way anew.
    for mode in ["Native", "Generic", "Native"] {
        node.put("port.yaml", drops("port", "late0", mode, &[9]));
        agent.wait("the mode of the port", |status| {
            interface(status, "late0").is_some_and(|port| port.mode_in_force == mode)
        });
        agent.wait_for_rules("bridge0", &["port-9"]);
        assert_eq!((on(&node, "late0").unwrap().mode, on(&node, "bridge0").unwrap().mode), (mode, "Generic"));
    }
}

#[test]
fn a_program_of_somebody_else_on_the_bridge_is_left_alone_and_named() {
    let Some(node) = Node::new("bridge-held") else { return };
    node.ip("link add bridge0 type bridge");
    node.put("bridge.yaml", drops("bridge", "bridge0", "Auto", &[9]));
    let mut agent = node.start();
    let theirs = agent.wait_for_rules("bridge0", &["port-9"]);
    agent.kill();
    // As it were somebody else's: our agent no longer finds it pinned where it looks.
    fs::rename(node.pin_path().join(theirs.ifindex.to_string()), node.pin_path().join("elsewhere")).unwrap();
    node.put("bridge.yaml", drops("port", "late0", "Auto", &[9]));
    let agent = node.start();
    node.ip("link add late0 master bridge0 type veth peer name late1");
    let status = agent.wait("the refusal", |status| {
        interface(status, "late0").is_some_and(|port| port.reason == "UpperDeviceHasProgram")
    });
    assert!(interface(&status, "late0").unwrap().message.contains("bridge"));
    assert_eq!(on(&node, "bridge0").unwrap().id, theirs.program_id);
    node.ip("link set dev late0 nomaster");
    agent.wait_for_rules("late0", &["port-9"]);
}

#[test]
fn counters_go_on_over_a_change_of_mode() {
    let Some(node) = Node::new("mode-counters") else { return };
    node.put("policy.yaml", drops("web", node.device(), "Native", &[9]));
    let agent = node.start();
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.assert_drops(9);
    node.put("policy.yaml", drops("web", node.device(), "Generic", &[9]));
    let status = agent.wait("generic", |status| {
        interface(status, node.device()).is_some_and(|interface| interface.mode_in_force == "Generic")
    });
    assert_eq!(counted(interface(&status, node.device()).unwrap(), "web", "port-9"), 10);
    node.assert_drops(9);
    wait_until(SOON, "the drops to be counted", || {
        counted(interface(&agent.status(), node.device()).unwrap(), "web", "port-9") == 20
    });
}

#[test]
fn an_interface_with_the_index_of_one_that_moved_away_is_programmed() {
    let Some(node) = Node::new("index") else { return };
    let away = NetworkNamespace::new("index-away").unwrap();
    node.ip("link add late0 index 400 type veth peer name late1");
    node.put("policy.yaml", drops("web", "late0", "Native", &[9]));
    let agent = node.start();
    let before = agent.wait_for_rules("late0", &["port-9"]);
    let batch = format!(
        "link set dev late0 netns {} name moved0\nlink add name late0 index 400 type veth peer name late2\n",
        away.name()
    );
    fs::write(node.path("batch"), batch).unwrap();
    node.ip(&format!("-batch {}", node.path("batch").display()));
    agent.wait("the new interface", |status| {
        interface(status, "late0").is_some_and(|late| late.link_id != 0 && late.link_id != before.link_id)
    });
    assert_eq!(on(&node, "late0").unwrap().mode, "Native");
    assert_eq!(program(&away, "moved0"), None, "what has left is ours no more");
}

#[test]
fn pins_that_somebody_removed_are_made_again() {
    let Some(node) = Node::new("repin") else { return };
    node.put("policy.yaml", drops("web", node.device(), "Native", &[9]));
    let mut agent = node.start();
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    let folder = node.pin_path().join(before.ifindex.to_string());
    fs::remove_file(folder.join("link")).unwrap();
    let after = agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!((after.link_id, after.program_id), (before.link_id, before.program_id));
    assert!(folder.join("link").exists());
    for entry in fs::read_dir(&folder).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    fs::remove_dir(&folder).unwrap();
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.put("policy.yaml", drops("web", node.device(), "Native", &[9, 10]));
    agent.wait_for_rules(node.device(), &["port-9", "port-10"]);
    agent.kill();
    node.assert_drops(10);
    let agent = node.start();
    assert_eq!(agent.wait_for_rules(node.device(), &["port-9", "port-10"]).link_id, before.link_id);
}

#[test]
fn a_state_directory_that_somebody_removed_is_made_again() {
    let Some(node) = Node::new("state-gone") else { return };
    node.put("policy.yaml", drops("web", node.device(), "Native", &[9]));
    let agent = node.start();
    agent.wait_for_rules(node.device(), &["port-9"]);
    fs::remove_dir_all(node.path("state")).unwrap();
    node.put("policy.yaml", drops("web", node.device(), "Native", &[10]));
    agent.wait_for_rules(node.device(), &["port-10"]);
    wait_until(SOON, "the last good policies", || node.path("state/last-good.json").exists());
}
