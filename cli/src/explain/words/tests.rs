//! Words for the whole language, from documents as users write them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use insta::assert_snapshot;
use serde_json::{Value, json};
use sluice_policy::{Policy, parse_document};

use super::*;

#[allow(clippy::needless_pass_by_value, reason = "callers make it with json!")]
fn policy(spec: Value) -> Policy {
    let mut document = json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "XdpPolicy",
        "metadata": {"name": "words"},
        "spec": {"interfaces": [{"names": ["eth0"]}]},
    });
    document["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    parse_document("words.yaml", &document).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn rules(rules: &[Value]) -> Policy {
    let rules: Vec<Value> = rules
        .iter()
        .enumerate()
        .map(|(index, rule)| {
            let mut rule = rule.clone();
            rule["name"] = json!(format!("rule-{index}"));
            rule
        })
        .collect();
    policy(json!({ "rules": rules }))
}

fn matches(matches: &[Value]) -> String {
    let counting: Vec<Value> =
        matches.iter().map(|one| json!({"match": one, "action": {"type": "Count"}})).collect();
    rules(&counting).rules.iter().map(|rule| matcher(&rule.matcher) + "\n").collect()
}

#[test]
fn every_field() {
    assert_snapshot!(matches(&[
        json!({}),
        json!({"protocol": "UDP"}),
        json!({"protocol": 77}),
        json!({"protocol": "UDP", "destinationPorts": ["9", "100-200"]}),
        json!({"protocol": "TCP", "sourcePorts": ["1024-65535"], "destinationPorts": ["443"]}),
        json!({"sources": ["192.0.2.0/24", "2001:db8::1/128"], "destinations": ["198.51.100.7/32"]}),
        json!({"sourceSets": ["bad", "worse"]}),
        json!({"sources": ["192.0.2.0/24"], "sourceSets": ["bad"]}),
        json!({"destinationSets": ["bad"], "destinationSetSelector": {"matchLabels": {"feed": "drop"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["1", "2"]},
                {"key": "old", "operator": "DoesNotExist"}]}}),
        json!({"protocol": "TCP", "tcpFlags": {"set": ["SYN"], "unset": ["ACK", "RST"]}}),
        json!({"protocol": "ICMP", "icmp": {"type": 8, "code": 0}}),
        json!({"vlan": {"ids": [0, 5]}}),
        json!({"ipVersion": 6, "protocol": "UDP", "fragment": "Later"}),
        json!({"fragment": "First"}),
        json!({"fragment": "Any"}),
        json!({"length": "0-64"}),
        json!({"ipVersion": 4, "protocol": "IPv6"}),
    ]));
}

#[test]
fn what_must_not_hold() {
    assert_snapshot!(matches(&[
        json!({"protocol": "UDP", "not": {"sources": ["192.0.2.0/24"]}}),
        json!({"not": {"protocol": "TCP", "destinationPorts": ["22"], "sources": ["10.0.0.0/8"]}}),
    ]));
}

#[test]
fn long_lists_are_counted() {
    let ports: Vec<String> = (1..20).map(|port| port.to_string()).collect();
    assert_snapshot!(matches(&[
        json!({"protocol": "UDP", "destinationPorts": ports}),
        json!({"protocol": "UDP", "destinationPorts": ports[..7]}),
    ]));
}

#[test]
fn every_action() {
    let actions = [
        json!({"type": "Drop"}),
        json!({"type": "Pass"}),
        json!({"type": "Count"}),
        json!({"type": "RateLimit", "rateLimit": {"packetsPerSecond": 1000, "burst": 50, "per": "Node"}}),
        json!({"type": "RateLimit", "rateLimit": {"bitsPerSecond": 1_000_000, "burst": 20000, "per": "Source"}}),
        json!({"type": "RateLimit", "rateLimit": {"packetsPerSecond": 1, "burst": 1, "per": "Source",
            "sourcePrefix": {"v4": 32, "v6": 128}}}),
        json!({"type": "Mark", "mark": {"mark": 16, "priority": 6}}),
        json!({"type": "Mark", "mark": {"class": "1:10"}}),
        json!({"type": "Steer", "steer": {"cpus": "2-5,8", "algorithm": "SourceHash", "queueSize": 2048}}),
        json!({"type": "Socket", "socket": {"pool": "fast"}}),
    ];
    let documents: Vec<Value> =
        actions.iter().map(|one| json!({"match": {"protocol": "UDP"}, "action": one})).collect();
    let words: String = rules(&documents).rules.iter().map(|rule| action(&rule.action) + "\n").collect();
    assert_snapshot!(words);
}

#[test]
fn the_failsafe_and_its_changes() {
    let policy = policy(json!({
        "rules": [{"name": "udp", "match": {"protocol": "UDP"}, "action": {"type": "Count"}}],
        "failsafe": {
            "services": {"SSH": {"sources": ["10.0.0.0/8", "192.0.2.7/32"]}, "Kubelet": {"disabled": true}},
            "extra": [{"protocol": "TCP", "ports": ["179"], "sources": ["192.0.2.1/32"]}, {"protocol": "OSPF"}],
        },
    }));
    assert_snapshot!(format!("{}\n{}", services(), changes(&policy.failsafe).join("\n")));
}
