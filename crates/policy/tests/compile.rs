//! Plans as a whole, and what policies do to each other on one interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::time::{Duration, Instant};

use common::{document_with, parse};
use rstest::rstest;
use serde_json::{Value, json};
use sluice_policy::{LinkFacts, Master, Node, NodePlan, Policy, compile};

fn policy(name: &str, rules: Vec<Value>) -> Policy {
    let mut document = document_with("/metadata/name", json!(name));
    document["spec"]["rules"] = Value::Array(rules);
    parse(&document).unwrap()
}

fn rule(name: &str, protocol: &Value, ports: &[&str], action: &str) -> Value {
    let mut matching = json!({"protocol": protocol});
    if !ports.is_empty() {
        matching["destinationPorts"] = json!(ports);
    }
    json!({"name": name, "match": matching, "action": {"type": action}})
}

fn on_eth0(policies: &[Policy]) -> NodePlan {
    let link = LinkFacts { ifindex: 2, name: "eth0".to_owned(), ..LinkFacts::default() };
    compile(policies, &Node { links: vec![link], ..Node::default() })
}

fn node_of_many_pods() -> Vec<LinkFacts> {
    let below = |ifindex, kind: &str| Some(Master { ifindex, kind: Some(kind.to_owned()) });
    let device = |ifindex, name: &str, kind: Option<&str>, master| LinkFacts {
        ifindex,
        name: name.to_owned(),
        kind: kind.map(str::to_owned),
        master,
        ..LinkFacts::default()
    };
    let mut links = vec![
        LinkFacts { parent: Some(3), ..device(2, "bond0.7", Some("vlan"), below(4, "bridge")) },
        device(3, "bond0", Some("bond"), None),
        device(4, "br0", Some("bridge"), None),
        device(5, "eth0", None, below(3, "bond")),
        device(6, "eth1", None, below(3, "bond")),
    ];
    for ifindex in 7..5007 {
        links.push(device(ifindex, &format!("veth{ifindex}"), Some("veth"), below(4, "bridge")));
    }
    links
}

#[test]
fn thousands_of_pods_cost_little_and_devices_below_others_come_first() {
    let mut document = document_with("/spec/interfaces/0/names", json!(["bond0", "bond0.7", "br0", "veth9"]));
    let named = parse(&document).unwrap();
    document["metadata"]["name"] = json!("rest");
    document["spec"]["interfaces"] = json!([{"names": ["eth*", "bond*"]}]);
    let policies = [named, parse(&document).unwrap()];
    let node = Node { links: node_of_many_pods(), ..Node::default() };
    let start = Instant::now();
    let plan = compile(&policies, &node);
    let took = start.elapsed();
    let order: Vec<&str> = plan.interfaces.iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!(order, ["veth9", "bond0", "bond0.7", "br0"]);
    println!("compiled for {} devices in {took:?}", node.links.len());
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_plan_as_it_is_shown() {
    let first = policy("first", vec![rule("dns", &json!("UDP"), &["53", "5353"], "Pass")]);
    let second = policy(
        "second",
        vec![rule("seen", &json!("UDP"), &[], "Count"), rule("low", &json!("UDP"), &["0-1023"], "Drop")],
    );
    insta::assert_yaml_snapshot!(on_eth0(&[first, second]));
}

#[test]
fn without_policies_nothing_is_to_be_in_force() {
    assert_eq!(on_eth0(&[]), NodePlan::default());
}

#[test]
fn port_ranges_that_no_table_holds_are_left_out_as_a_whole() {
    // Every second port is a range of its own, and so is every port between: 256 ports a rule are 512 ranges.
    let every_second = |name: &str, rules: std::ops::Range<u32>| {
        let rules = rules.map(|number| {
            let ports: Vec<String> = (0..256).map(|port| ((number * 256 + port) * 2).to_string()).collect();
            let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
            rule(&format!("r{number}"), &json!("UDP"), &ports, "Count")
        });
        policy(name, rules.collect())
    };
    let plan = on_eth0(&[every_second("a", 0..10), every_second("b", 10..20)]);
    assert_eq!(plan.interfaces[0].policies, ["a"]);
    assert_eq!(plan.policies[1].conflicts[0].reason, "TooManyClasses");
}

#[rstest]
#[case::same(&["9"], &["9"], "Drop", true)]
#[case::inside(&["0-100"], &["9"], "Pass", true)]
#[case::wider(&["9"], &["8-9"], "Drop", false)]
#[case::every_port_but_not_those_without(&["0-65535"], &[], "Drop", false)]
#[case::every_port(&[], &["0-65535"], "Drop", true)]
#[case::counting_does_not_end_the_search(&["9"], &["9"], "Count", false)]
fn a_rule_behind_another(
    #[case] first: &[&str],
    #[case] second: &[&str],
    #[case] first_action: &str,
    #[case] is_shadowed: bool,
) {
    let rules =
        vec![rule("first", &json!("UDP"), first, first_action), rule("second", &json!(17), second, "Drop")];
    let plan = on_eth0(&[policy("p", rules)]);
    let warned = plan.policies[0].warnings.iter().any(|warning| warning.reason == "RuleNeverReached");
    assert_eq!(warned, is_shadowed, "{:?}", plan.policies[0].warnings);
}

#[test]
fn rules_together_may_cover_another() {
    let rules = vec![
        rule("low", &json!("UDP"), &["0-9"], "Drop"),
        rule("high", &json!("UDP"), &["10-20"], "Pass"),
        rule("other", &json!("TCP"), &["5-15"], "Pass"),
        rule("middle", &json!("UDP"), &["5-15"], "Drop"),
    ];
    let plan = on_eth0(&[policy("p", rules)]);
    let [warning] = &plan.policies[0].warnings[..] else { panic!("{:?}", plan.policies[0].warnings) };
    let words = "rule middle is never reached on eth0: p/low, p/high before it decide about all that it matches. \
                 Remove it, or move the narrower match up.";
    assert_eq!(warning.message, words);
}
