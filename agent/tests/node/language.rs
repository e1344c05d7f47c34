//! What status shows of the new kinds of rules: rates and what exceeds them, dry runs, sources, and what is refused.

use rstest::rstest;
use sluice_ipc::v1alpha1::{InterfaceStatus, PolicyState, RuleCounter};

use crate::harness::{Node, interface, policy_rules, policy_status, problems};

fn policy(node: &Node, name: &str, more: &str, rules: &[(&str, &str)]) -> String {
    let rules: String = rules
        .iter()
        .map(|(name, action)| {
            format!(
                "  - {{name: {name}, match: {{protocol: UDP, destinationPorts: [9]}}, action: {{{action}}}}}\n"
            )
        })
        .collect();
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpPolicy\nmetadata: {{name: {name}}}\nspec:\n  interfaces: [{{names: \
         [{}]}}]\n{more}  rules:\n{rules}",
        node.device()
    )
}

fn outcome(interface: &InterfaceStatus, name: &str) -> u64 {
    interface.outcomes.iter().find(|outcome| outcome.outcome == name).unwrap().packets
}

fn rule<'a>(interface: &'a InterfaceStatus, name: &str) -> &'a RuleCounter {
    policy_rules(interface).find(|rule| rule.rule == name).unwrap()
}

#[rstest]
#[case::node("Node", None)]
#[case::source("Source", Some(0))]
fn what_exceeds_a_rate_stands_beside_its_rule(#[case] per: &str, #[case] evicted: Option<u64>) {
    let Some(node) = Node::new("rate") else { return };
    let agent = node.start();
    let limit = format!("type: RateLimit, rateLimit: {{packetsPerSecond: 1, burst: 1, per: {per}}}");
    node.put("policy.yaml", policy(&node, "limits", "", &[("slow", &limit)]));
    agent.wait_for_rules(node.device(), &["slow"]);
    node.send(50, 9);
    let status = agent.wait("the packets are counted", |status| {
        interface(status, node.device()).is_some_and(|it| rule(it, "slow").packets == 50)
    });
    let interface = interface(&status, node.device()).unwrap();
    let exceeded = rule(interface, "slow").exceeded_packets.unwrap();
    assert!((45..50).contains(&exceeded), "{exceeded}");
    assert_eq!(outcome(interface, "DropRateLimit"), exceeded);
    assert_eq!(outcome(interface, "PassNoMatch"), 50 - exceeded);
    assert_eq!(rule(interface, "slow").exceeded_bytes, Some(exceeded * 43));
    assert_eq!(interface.sources_evicted, evicted);
}

#[test]
fn a_dry_run_is_shown_as_one_and_drops_nothing() {
    let Some(node) = Node::new("dry") else { return };
    let agent = node.start();
    let more = "  enforcement: DryRun\n  defaultAction: Drop\n";
    node.put("policy.yaml", policy(&node, "trial", more, &[("would", "type: Drop")]));
    let before = agent.wait_for_rules(node.device(), &["would", "defaultAction"]);
    assert!(policy_rules(&before).all(|rule| rule.dry_run));
    node.assert_passes(9);
    node.assert_passes(8);
    let status = agent.status();
    let interface = interface(&status, node.device()).unwrap();
    assert_eq!((rule(interface, "would").packets, rule(interface, "defaultAction").packets), (3, 3));
    let would: Vec<_> = interface.events.iter().map(|event| (event.event.as_str(), event.packets)).collect();
    assert_eq!(would, [("DryRunDrop", 6)]);
    assert_eq!(outcome(interface, "PassNoMatch"), 6);
    let policy = policy_status(&status, "trial").unwrap();
    assert_eq!((policy.state(), policy.dry_run), (PolicyState::InForce, true));
}

#[rstest]
#[case::steer("type: Steer, steer: {cpus: \"0\", algorithm: FlowHash, queueSize: 64}")]
#[case::socket("type: Socket, socket: {pool: fast}")]
fn what_is_not_carried_out_is_refused_as_a_whole(#[case] action: &str) {
    let Some(node) = Node::new("refused") else { return };
    let agent = node.start();
    node.put("policy.yaml", policy(&node, "later", "", &[("first", "type: Drop"), ("second", action)]));
    let status = agent.wait("the refusal", |status| problems(status).next().is_some());
    let problem = problems(&status).next().unwrap();
    assert_eq!(
        (problem.field.as_str(), problem.reason.as_str()),
        ("spec.rules[1].action.type", "NotImplemented")
    );
    assert_eq!(policy_status(&status, "later").unwrap().state(), PolicyState::Refused);
    assert_eq!(node.program(), None);
}
