//! What is written is what is read, and nothing that can be written stops the reader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{document, document_with, lines, parse, policies, write};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use sluice_policy::{Policy, Problem, Reason};

/// What a document does not say in the words of the policy.
fn without_origin(policy: Policy) -> Policy {
    Policy { document: Value::Null, interfaces: Vec::new(), ..policy }
}

proptest! {
    #[test]
    fn a_policy_survives_writing_and_reading(policy in policies::policy()) {
        let document = write::document(&policy);
        let refused = |problems: Vec<Problem>| TestCaseError::fail(format!("{}\n{document}", lines(&problems)));
        let read = parse(&document).map_err(refused)?;
        prop_assert_eq!(without_origin(read), policy);
        let typed: Result<sluice_api::XdpPolicy, _> = serde_json::from_value(document);
        prop_assert!(typed.is_ok(), "{:?}", typed.err());
    }

    #[test]
    fn any_spec_is_answered(spec in value()) {
        let mut document = document();
        document["spec"] = spec;
        answered(&document)?;
    }

    #[test]
    fn any_rule_is_answered(matching in object(), action in object(), failsafe in value()) {
        let mut document = document_with("/spec/rules/0/match", matching);
        document["spec"]["rules"][0]["action"] = action;
        document["spec"]["failsafe"] = failsafe;
        answered(&document)?;
    }
}

/// A policy that fits the types of the API, or problems with words.
fn answered(document: &Value) -> Result<(), TestCaseError> {
    match parse(document) {
        Ok(policy) => {
            let typed: Result<sluice_api::XdpPolicy, _> = serde_json::from_value(policy.document);
            prop_assert!(typed.is_ok(), "{:?}: {document}", typed.err());
        }
        Err(problems) => {
            prop_assert!(!problems.is_empty());
            prop_assert!(
                problems.iter().all(|problem| !problem.message.is_empty() && !problem.fix.is_empty())
            );
        }
    }
    Ok(())
}

/// Every word of the language, so that random documents get far into it.
fn key() -> impl Strategy<Value = String> {
    let words = "interfaces names mode enforcement priority defaultAction failsafe services extra rules name match \
                 action type protocol destinationPorts sourcePorts sources destinations sourceSets destinationSets \
                 sourceSetSelector matchLabels matchExpressions key operator values tcpFlags set unset icmp code vlan \
                 ids ipVersion fragment length not rateLimit packetsPerSecond bitsPerSecond burst per sourcePrefix v4 \
                 v6 mark class steer cpus algorithm queueSize socket pool SSH ARP disabled ports";
    prop_oneof![9 => select(words.split_whitespace().collect::<Vec<_>>()).prop_map(str::to_owned), 1 => any::<String>()]
}

fn leaf() -> impl Strategy<Value = Value> {
    let texts = [
        "Drop",
        "RateLimit",
        "Mark",
        "Steer",
        "Socket",
        "TCP",
        "ICMP",
        "SYN",
        "First",
        "Source",
        "In",
        "DryRun",
        "80",
        "9-1",
        "0-65535",
        "192.0.2.1/24",
        "192.0.2.0/24",
        "::ffff:0:0/96",
        "2001:db8::/32",
        "1:10",
        "2-5,7",
        "all",
        "a",
        "",
        "-",
        "/",
        ":",
        ",",
        "ä-ö",
        "4294967296-1",
        "\u{0}",
    ];
    prop_oneof![
        4 => select(texts.to_vec()).prop_map(|text| json!(text)),
        2 => select(vec![-1, 0, 1, 4, 6, 58, 255, 256, 4096, 65535, 65536, i64::MAX]).prop_map(|number| json!(number)),
        1 => any::<String>().prop_map(Value::String),
        1 => any::<u64>().prop_map(|number| json!(number)),
        1 => any::<f64>().prop_map(|number| json!(number)),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..5).prop_map(Value::Array),
            3 => vec((key(), inner), 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    vec((key(), value()), 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
}

/// The settings that the schema gives who names none.
#[test]
fn what_is_left_out_has_its_default() {
    let action = |action: Value| {
        let policy = parse(&document_with("/spec/rules/0/action", action)).unwrap();
        serde_json::to_value(&policy.rules[0].action).unwrap()
    };
    let packets = |rate: u64| action(json!({"type": "RateLimit", "rateLimit": {"packetsPerSecond": rate}}));
    assert_eq!(
        packets(10_000),
        json!({"RateLimit": {"rate": 10_000, "unit": "Packets", "burst": 1000, "perSource": null}})
    );
    assert_eq!(packets(9)["RateLimit"]["burst"], 1);
    let bits = |rate: u64| {
        action(json!({"type": "RateLimit", "rateLimit": {"bitsPerSecond": rate, "per": "Source"}}))
    };
    assert_eq!(bits(1_000_000)["RateLimit"]["burst"], 100_000);
    assert_eq!(bits(1000)["RateLimit"]["burst"], 1518 * 8);
    assert_eq!(bits(1000)["RateLimit"]["perSource"], json!({"v4": 32, "v6": 64}));
    assert_eq!(
        action(json!({"type": "Steer", "steer": {"cpus": "7,2-4,3"}})),
        json!({"Steer": {"cpus": [2, 3, 4, 7], "algorithm": "FlowHash", "queueSize": 2048}})
    );
    assert_eq!(
        action(json!({"type": "Mark", "mark": {"class": "1:10"}})),
        json!({"Mark": {"class": 0x1_0010}})
    );
}

#[test]
fn names_of_sets_are_sorted_and_each_is_there_once() {
    let policy =
        parse(&document_with("/spec/rules/0/match", json!({"sourceSets": ["b", "a", "b"]}))).unwrap();
    assert_eq!(policy.rules[0].matcher.fields.source_sets.as_ref().unwrap().names, ["a", "b"]);
}

#[test]
fn what_no_agent_carries_out_yet_is_named_by_rule() {
    let mut document = document();
    document["spec"]["rules"] = json!([
        {"name": "a", "action": {"type": "Count"}},
        {"name": "b", "action": {"type": "Steer", "steer": {"cpus": "1"}}},
        {"name": "c", "action": {"type": "Socket", "socket": {"pool": "fast"}}},
        {"name": "d", "action": {"type": "Mark", "mark": {"mark": 1}}},
    ]);
    let problems = parse(&document).unwrap().not_carried_out();
    assert!(problems.iter().all(|problem| problem.reason == Reason::NotImplemented));
    insta::assert_snapshot!(lines(&problems), @r"
    [NotImplemented] p.yaml: spec.rules[1].action.type: Steer is not implemented in this release. Write Drop, Pass, Count, RateLimit or Mark.
    [NotImplemented] p.yaml: spec.rules[2].action.type: Socket is not implemented in this release. Write Drop, Pass, Count, RateLimit or Mark.
    ");
}
