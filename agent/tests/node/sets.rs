//! Address sets in the policy directory: what is in force follows them, and what a rule names stays.

use sluice_dataplane::cleanup;
use sluice_ipc::v1alpha1::{AddressSetState, AddressSetStatus, PolicyState, StatusReply};
use sluice_testkit::wait_until;

use crate::harness::{Agent, Node, SOON, interface, policy_status};

/// The policy of the case: it drops what a list holds.
fn needs(sets: &str, device: &str) -> String {
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpPolicy\nmetadata: {{name: needs-drop}}\nspec:\n  \
         interfaces: [{{names: [{device}]}}]\n  mode: Native\n  rules:\n    \
         - {{name: r, match: {{{sets}}}, action: {{type: Drop}}}}\n"
    )
}

fn by_name(node: &Node) -> String {
    needs("sourceSets: [drop-list]", node.device())
}

/// A set as an object.
fn object(name: &str, cidrs: &[&str]) -> String {
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpCidrSet\nmetadata: {{name: {name}, labels: {{list: big}}}}\n\
         spec:\n  cidrs: {cidrs:?}\n"
    )
}

fn set<'a>(status: &'a StatusReply, name: &str) -> Option<&'a AddressSetStatus> {
    status.sets.iter().find(|set| set.name == name)
}

fn peer(node: &Node) -> String {
    node.lab.peer.ipv4.to_string()
}

/// Waits until packets from the peer pass, or are dropped by the rule.
fn wait_for_verdict(agent: &Agent, node: &Node, passes: bool) {
    let sink = node.sink(7000);
    wait_until(SOON, if passes { "packets pass" } else { "packets are dropped" }, || {
        let (received, dropped) = (sink.received(), dropped(agent, node));
        node.send(3, 7000);
        // Each packet is either counted as dropped or arrives, in its own time.
        wait_until(SOON, "the packets to be judged", || {
            sink.received() - received + dropped_since(agent, node, dropped) >= 3
        });
        if passes { sink.received() - received == 3 } else { dropped_since(agent, node, dropped) == 3 }
    });
}

fn dropped(agent: &Agent, node: &Node) -> u64 {
    let status = agent.status();
    let rules = interface(&status, node.device()).map_or(&[][..], |interface| &interface.rules);
    rules.iter().filter(|rule| rule.rule == "r").map(|rule| rule.packets).sum()
}

fn dropped_since(agent: &Agent, node: &Node, before: u64) -> u64 {
    dropped(agent, node).saturating_sub(before)
}

fn wait_for_set(agent: &Agent, name: &str, state: AddressSetState) -> AddressSetStatus {
    let status = agent.wait(&format!("set {name} is {state:?}"), |status| {
        set(status, name).is_some_and(|set| set.state() == state)
    });
    set(&status, name).unwrap().clone()
}

#[test]
fn cidr_12_a_missing_set_is_waited_for_and_a_deleted_one_stays() {
    let Some(node) = Node::new("sets") else { return };
    let mut agent = node.start();
    node.put("policy.yaml", by_name(&node));
    let status = agent.wait("the policy is refused", |status| {
        policy_status(status, "needs-drop").is_some_and(|policy| policy.state() == PolicyState::Refused)
    });
    let problem = &policy_status(&status, "needs-drop").unwrap().problems[0];
    assert_eq!(problem.reason, "CidrSetNotFound");
    assert!(
        problem.message.contains("rule r") && problem.message.contains("drop-list"),
        "{}",
        problem.message
    );
    assert!(interface(&status, node.device()).is_none(), "nothing of it is in force");

    node.put("drop-list.yaml", object("drop-list", &[&peer(&node)]));
    agent.wait("the policy comes into force by itself", |status| {
        policy_status(status, "needs-drop").is_some_and(|policy| policy.state() == PolicyState::InForce)
    });
    wait_for_verdict(&agent, &node, false);

    node.remove("drop-list.yaml");
    wait_for_set(&agent, "drop-list", AddressSetState::Gone);
    let warned = |status: &StatusReply| {
        let policy = policy_status(status, "needs-drop").unwrap();
        assert_eq!(policy.state(), PolicyState::InForce);
        policy.warnings.iter().any(|warning| warning.reason == "CidrSetNotFound")
    };
    assert!(warned(&agent.status()));
    wait_for_verdict(&agent, &node, false);

    // The store is written behind what is in force.
    wait_until(SOON, "the set is saved", || node.path("state/last-good-sets.bin").exists());
    agent.terminate();
    let agent = node.start();
    wait_for_set(&agent, "drop-list", AddressSetState::Gone);
    assert!(warned(&agent.status()));
    agent.wait_for_rules_of(&node, "r");
    wait_for_verdict(&agent, &node, false);

    node.put("policy.yaml", needs("protocol: UDP, destinationPorts: [\"9\"]", node.device()));
    agent.wait("the set goes with the last rule that names it", |status| status.sets.is_empty());
    wait_for_verdict(&agent, &node, true);
}

#[test]
fn an_earlier_revision_stays_while_a_set_is_missing() {
    let Some(node) = Node::new("sets-earlier") else { return };
    let agent = node.start();
    node.put("drop-list.yaml", object("drop-list", &[&peer(&node)]));
    node.put("policy.yaml", by_name(&node));
    agent.wait_for_rules_of(&node, "r");
    let program = node.program().unwrap().id;
    node.put("policy.yaml", needs("sourceSets: [drop-list, not-there]", node.device()));
    let status = agent.wait("the earlier revision stays", |status| {
        policy_status(status, "needs-drop").is_some_and(|policy| policy.state() == PolicyState::LastGood)
    });
    assert_eq!(policy_status(&status, "needs-drop").unwrap().problems[0].reason, "CidrSetNotFound");
    assert_eq!(node.program().unwrap().id, program);
    wait_for_verdict(&agent, &node, false);
}

#[test]
fn a_changed_set_changes_the_table_and_not_the_program() {
    let Some(node) = Node::new("sets-change") else { return };
    let agent = node.start();
    node.put("drop-list.cidrs", "198.51.100.0/24\nrubbish\n198.51.100.0/24\n");
    node.put("policy.yaml", by_name(&node));
    agent.wait_for_rules_of(&node, "r");
    let program = node.program().unwrap().id;
    let told = wait_for_set(&agent, "drop-list", AddressSetState::Loaded);
    assert_eq!((told.entries, told.duplicates, told.rejected), (1, 1, 1));
    assert_eq!(told.first_rejected[0].text, "rubbish");
    wait_for_verdict(&agent, &node, true);
    for (content, passes) in [
        (peer(&node), false),
        ("198.51.100.7".into(), true),
        (format!("{}\n192.0.2.0/24", peer(&node)), false),
    ] {
        node.put("drop-list.cidrs", format!("{content}\n"));
        wait_for_verdict(&agent, &node, passes);
        assert_eq!(node.program().unwrap().id, program);
    }
    let table = agent.status().address_table.unwrap();
    assert_eq!(table.prefixes, 2);
    assert!(table.bytes_used > 0 && table.bytes_used <= table.bytes_allocated);
    // What is no list keeps the last one, and says so.
    node.put("drop-list.cidrs", "<html>\n");
    let told = wait_for_set(&agent, "drop-list", AddressSetState::LastGood);
    assert!(!told.problems.is_empty());
    wait_for_verdict(&agent, &node, false);
    assert_eq!(node.program().unwrap().id, program);
}

#[test]
fn sets_of_one_label_are_one_list() {
    let Some(node) = Node::new("sets-label") else { return };
    let agent = node.start();
    node.put("1.yaml", object("big-1", &["198.51.100.0/24"]));
    node.put("2.yaml", object("big-2", &["192.0.2.0/24"]));
    node.put("policy.yaml", needs("sourceSetSelector: {matchLabels: {list: big}}", node.device()));
    agent.wait_for_rules_of(&node, "r");
    wait_for_verdict(&agent, &node, true);
    let program = node.program().unwrap().id;
    node.put("2.yaml", object("big-2", &["192.0.2.0/24", &peer(&node)]));
    wait_for_verdict(&agent, &node, false);
    assert_eq!(node.program().unwrap().id, program);
    node.put("2.yaml", object("big-2", &["192.0.2.0/24"]));
    wait_for_verdict(&agent, &node, true);
    // Another object under the label is part of the list by itself.
    node.put("3.yaml", object("big-3", &[&peer(&node)]));
    wait_for_verdict(&agent, &node, false);
    node.remove("3.yaml");
    wait_for_verdict(&agent, &node, true);
    assert_eq!(agent.status().sets.len(), 2);
}

#[test]
fn killed_at_any_moment_of_a_change_it_goes_on() {
    let Some(node) = Node::new("sets-kill") else { return };
    let list = |round: u32| {
        let other: String =
            (0..20_000_u32).map(|n| format!("10.{}.{}.{}\n", round % 200, n / 250, n % 250)).collect();
        format!("{}\n{other}", peer(&node))
    };
    node.put("drop-list.cidrs", list(0));
    node.put("policy.yaml", by_name(&node));
    let mut agent = node.start();
    agent.wait_for_rules_of(&node, "r");
    wait_for_verdict(&agent, &node, false);
    let sink = node.sink(7000);
    for round in 1..8_u32 {
        node.put("drop-list.cidrs", list(round));
        std::thread::sleep(std::time::Duration::from_millis(u64::from(round * 13 % 60)));
        agent.kill();
        node.send(20, 7000);
        agent = node.start();
        node.send(20, 7000);
    }
    agent.wait_for_rules_of(&node, "r");
    node.send(20, 7000);
    let open = node.sink(40_000);
    node.put("drop-list.cidrs", "198.51.100.0/24\n");
    wait_until(SOON, "the last change comes through", || {
        node.send(1, 40_000);
        open.received() > 0
    });
    assert_eq!(sink.received(), 0, "what is in before and after every change is dropped all the time");
    let pins: Vec<_> =
        node.pins().into_iter().filter(|pin| pin.to_string_lossy().contains("address_sets")).collect();
    assert_eq!(pins.len(), 1, "{pins:?}");
    agent.terminate();
    let pins = node.pins().into_iter().filter(|pin| pin.to_string_lossy().contains("address_sets"));
    assert_eq!(pins.count(), 0, "the table is not needed any more, the programs hold it themselves");
}

#[test]
fn a_cleanup_leaves_nothing_of_sets() {
    let Some(node) = Node::new("sets-cleanup") else { return };
    let mut agent = node.start();
    node.put("drop-list.cidrs", "198.51.100.0/24\n");
    node.put("policy.yaml", by_name(&node));
    agent.wait_for_rules_of(&node, "r");
    agent.kill();
    let is_table = |pin: &std::path::PathBuf| pin.to_string_lossy().contains("address_sets_v");
    assert!(node.pins().iter().any(is_table), "the test sees the table");
    cleanup::run(&node.pin_path()).unwrap();
    assert!(node.pins().is_empty() && !node.pin_path().exists());
}
