//! Interfaces come, go, change their names, their namespaces and their properties.

use std::{fs, os::unix::fs::symlink};

use rstest::rstest;
use sluice_ipc::v1alpha1::PolicyState;
use sluice_testkit::{NetworkNamespace, VethLab};

use crate::harness::{Node, can_run, drops, ifindex, interface, policy_status, program};

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn an_interface_that_appears_after_its_policy_is_programmed(#[case] mode: &'static str) {
    let Some(node) = Node::new("appear") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", "late0", mode, &[9]));
    agent.wait("the policy", |status| policy_status(status, "web").is_some());
    node.ip("link add late0 type veth peer name late1");
    let interface = agent.wait_for_rules("late0", &["port-9"]);
    let program = program(node.namespace(), "late0").unwrap();
    assert_eq!((program.mode, program.id), (mode, interface.program_id));
    assert_eq!(policy_status(&agent.status(), "web").unwrap().state(), PolicyState::InForce);
}

#[test]
fn an_interface_that_comes_back_with_another_index_is_programmed_anew() {
    let Some(node) = Node::new("return") else { return };
    let agent = node.start();
    node.ip("link add late0 type veth peer name late1");
    node.put("policy.yaml", drops("web", "late0", "Auto", &[9]));
    let before = agent.wait_for_rules("late0", &["port-9"]);
    node.ip("link delete late0");
    agent.wait("it is gone", |status| status.interfaces.is_empty());
    assert!(node.pins().is_empty(), "{:?}", node.pins());
    node.ip("link add late0 type veth peer name late1");
    let after = agent.wait_for_rules("late0", &["port-9"]);
    assert_ne!(before.ifindex, after.ifindex);
    assert!(!node.pin_path().join(before.ifindex.to_string()).exists());
}

#[test]
fn a_device_that_takes_over_index_and_name_of_another_is_programmed() {
    let Some(node) = Node::new("index") else { return };
    let agent = node.start();
    node.ip("link add late0 index 4242 type veth peer name late1");
    node.put("policy.yaml", drops("web", "late0", "Auto", &[9]));
    let before = agent.wait_for_rules("late0", &["port-9"]);
    let batch = node.path("batch");
    fs::write(&batch, "link delete late0\nlink add late0 index 4242 type veth peer name late1\n").unwrap();
    node.ip(&format!("-batch {}", batch.display()));
    agent.wait("the new device", |status| {
        interface(status, "late0").is_some_and(|now| now.program_id != 0 && now.link_id != before.link_id)
    });
    let program = program(node.namespace(), "late0").unwrap();
    assert_eq!(interface(&agent.status(), "late0").unwrap().program_id, program.id);
}

#[test]
fn a_rename_takes_the_old_name_s_policy_off_and_brings_the_new_one_s_in() {
    let Some(node) = Node::new("rename") else { return };
    let agent = node.start();
    node.put("old.yaml", drops("old", node.device(), "Auto", &[9]));
    node.put("new.yaml", drops("new", "renamed0", "Auto", &[10]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.ip(&format!("link set dev {} name renamed0", node.device()));
    agent.wait_for_rules("renamed0", &["port-10"]);
    let status = agent.status();
    assert_eq!(policy_status(&status, "old").unwrap().state(), PolicyState::NoMatchingInterface);
    assert_eq!(policy_status(&status, "new").unwrap().state(), PolicyState::InForce);
    assert_eq!(status.interfaces.len(), 1);
    node.remove("new.yaml");
    agent.wait_until_off("renamed0");
    assert_eq!(program(node.namespace(), "renamed0"), None);
}

#[test]
fn an_alternative_name_selects_and_its_removal_takes_off() {
    let Some(node) = Node::new("altname") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", "uplink0", "Auto", &[9]));
    agent.wait("the policy", |status| policy_status(status, "web").is_some());
    node.ip(&format!("link property add dev {} altname uplink0", node.device()));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.ip(&format!("link property del dev {} altname uplink0", node.device()));
    agent.wait_until_off(node.device());
    assert_eq!(node.program(), None);
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn an_interface_that_moves_to_another_namespace_loses_its_program(#[case] mode: &'static str) {
    let Some(node) = Node::new("move") else { return };
    let elsewhere = NetworkNamespace::new("move-elsewhere").unwrap();
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.ip(&format!("link set dev {} netns {}", node.device(), elsewhere.name()));
    agent.wait("it is gone", |status| status.interfaces.is_empty());
    assert_eq!(program(&elsewhere, node.device()), None);
    assert!(node.pins().is_empty(), "{:?}", node.pins());
    elsewhere.ip(&format!("link set dev {} netns {}", node.device(), node.namespace().name())).unwrap();
    agent.wait_for_rules(node.device(), &["port-9"]);
}

#[test]
fn an_interface_that_moved_while_no_agent_ran_loses_its_program() {
    let Some(node) = Node::new("moved") else { return };
    let elsewhere = NetworkNamespace::new("moved-elsewhere").unwrap();
    let mut agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    agent.wait_for_rules(node.device(), &["port-9"]);
    agent.kill();
    node.ip(&format!("link set dev {} netns {}", node.device(), elsewhere.name()));
    assert!(program(&elsewhere, node.device()).is_some());
    let agent = node.start();
    agent.wait("the policy", |status| policy_status(status, "web").is_some());
    assert_eq!(program(&elsewhere, node.device()), None);
    assert!(node.pins().is_empty(), "{:?}", node.pins());
}

#[rstest]
#[case::mtu_native("Native", "ip link set dev DEVICE mtu 1400")]
#[case::mtu_generic("Generic", "ip link set dev DEVICE mtu 1400")]
#[case::channels_native("Native", "ethtool --set-channels DEVICE rx 1")]
#[case::channels_generic("Generic", "ethtool --set-channels DEVICE rx 1")]
#[case::down_and_up_native("Native", "ip link set dev DEVICE down")]
fn a_disturbed_interface_keeps_its_program_and_is_proven_anew(
    #[case] mode: &'static str,
    #[case] change: &str,
) {
    if !can_run() {
        return;
    }
    let lab = VethLab::options("disturb").silent().queues(2).build().unwrap();
    // Native mode wants a receive queue for each transmit queue of the other end.
    lab.peer.namespace.call(&format!("ethtool --set-channels {} tx 1", lab.peer.device)).unwrap();
    let node = Node::around(lab, "disturb");
    let agent = node.start();
    node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    node.send(1, 9);
    agent.wait("the proof", |status| interface(status, node.device()).unwrap().verified == "Verified");
    node.namespace().call(&change.replace("DEVICE", node.device())).unwrap();
    agent.wait("the proof begins anew", |status| {
        interface(status, node.device()).unwrap().verified == "Unverified (no traffic yet)"
    });
    node.ip(&format!("link set dev {} up", node.device()));
    let node_mac = node.lab.node.mac_text();
    let (peer, peer_device) = (&node.lab.peer.namespace, &node.lab.peer.device);
    peer.ip(&format!(
        "neighbour replace {} lladdr {node_mac} dev {peer_device} nud permanent",
        node.lab.node.ipv4
    ))
    .unwrap();
    let status = agent.wait("the proof", |status| {
        node.send(1, 9);
        interface(status, node.device()).unwrap().verified == "Verified"
    });
    let after = interface(&status, node.device()).unwrap();
    assert_eq!((before.link_id, before.program_id), (after.link_id, after.program_id));
    assert_eq!((after.mode_in_force.as_str(), after.reason.as_str()), (mode, ""));
    assert_eq!(node.program().unwrap().id, before.program_id);
}

#[test]
fn a_folder_that_is_exchanged_by_a_symbolic_link_is_seen_as_a_whole() {
    let Some(node) = Node::new("configmap") else { return };
    let folder = node.policies();
    let fill = |version: &str, port: u16| {
        fs::create_dir(folder.join(version)).unwrap();
        for name in ["one", "two"] {
            let policy = drops(name, node.device(), "Auto", &[port]);
            fs::write(folder.join(version).join(format!("{name}.yaml")), policy).unwrap();
        }
        symlink(version, folder.join("..data_tmp")).unwrap();
        fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
    };
    fill("..version_1", 9);
    for name in ["one.yaml", "two.yaml"] {
        symlink(format!("..data/{name}"), folder.join(name)).unwrap();
    }
    let agent = node.start();
    let before = agent.wait_for_rules(node.device(), &["port-9", "port-9"]);
    fill("..version_2", 10);
    fs::remove_dir_all(folder.join("..version_1")).unwrap();
    let after = agent.wait_for_rules(node.device(), &["port-10", "port-10"]);
    assert_eq!(before.link_id, after.link_id);
    let swaps = agent.log().matches("swapped in").count();
    assert_eq!(swaps, 1, "never one file of the old version beside one of the new");
}

#[test]
fn a_burst_of_new_interfaces_does_no_harm() {
    const PAIRS: usize = 50;
    let Some(node) = Node::new("burst") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", &format!("{}, burst7, burst49", node.device()), "Auto", &[9]));
    let before = agent.wait_for_rules(node.device(), &["port-9"]);
    let pair = |n| format!("link add burst{n} group 7 type veth peer name other{n}\n");
    let batch = node.path("batch");
    fs::write(&batch, (0..PAIRS).map(pair).collect::<String>()).unwrap();
    for _ in 0..2 {
        node.ip(&format!("-batch {}", batch.display()));
        agent.wait_for_rules("burst7", &["port-9"]);
        agent.wait_for_rules("burst49", &["port-9"]);
        assert_eq!(agent.status().interfaces.len(), 3);
        assert_eq!(program(node.namespace(), "burst8"), None);
        node.ip("link delete group 7");
        agent.wait("they are gone", |status| status.interfaces.len() == 1);
    }
    let after = agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!((before.link_id, before.program_id), (after.link_id, after.program_id));
    let expected = node.pin_path().join(ifindex(node.namespace(), node.device()).to_string());
    assert!(node.pins().iter().all(|pin| expected.ends_with(pin.parent().unwrap())), "{:?}", node.pins());
    node.assert_drops(9);
}

#[test]
fn a_pattern_takes_neither_the_loopback_nor_what_pods_use_and_a_name_takes_both() {
    let Some(node) = Node::new("pattern") else { return };
    let agent = node.start();
    node.put("policy.yaml", drops("web", "\"*\"", "Auto", &[9]));
    let status = agent.wait("the policy", |status| policy_status(status, "web").is_some());
    assert_eq!(policy_status(&status, "web").unwrap().state(), PolicyState::NoMatchingInterface);
    assert!(status.interfaces.is_empty());
    node.put("policy.yaml", drops("web", &format!("lo, {}", node.device()), "Auto", &[9]));
    agent.wait_for_rules("lo", &["port-9"]);
    agent.wait_for_rules(node.device(), &["port-9"]);
    node.assert_drops(9);
}

#[test]
fn a_bridge_and_its_port_both_run_when_both_are_named() {
    let Some(node) = Node::new("bridge") else { return };
    node.ip("link add bridge0 type bridge");
    node.ip(&format!("link set dev {} master bridge0", node.device()));
    node.put("policy.yaml", drops("web", &format!("bridge0, {}", node.device()), "Auto", &[9]));
    let agent = node.start();
    // The kernel refuses the port once the bridge has a program: the port comes first.
    let port = agent.wait_for_rules(node.device(), &["port-9"]);
    let bridge = agent.wait_for_rules("bridge0", &["port-9"]);
    assert_eq!((port.mode_in_force.as_str(), bridge.mode_in_force.as_str()), ("Native", "Generic"));
    assert_eq!((port.reason.as_str(), bridge.reason.as_str()), ("", "DriverNoXdp"));
}
