//! Random policies of one interface, as documents, and the address sets that they name.

use std::collections::BTreeMap;

use ipnet::IpNet;
use proptest::array::uniform32;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sluice_policy::failsafe::Service;
use sluice_policy::{InterfacePlan, LinkFacts, Node, SetFacts, compile, parse_document};

use crate::choices::Choices;
use crate::rules::{ports, prefixes, rule};
use crate::values::{SCTP, TCP, UDP, facts, prefix_v4, prefix_v6};

/// Contents of address sets, by name.
pub type Sets = BTreeMap<String, Vec<IpNet>>;

const SETS: [&str; 4] = ["s0", "s1", "s2", "s3"];
/// These carry the label that selectors ask for.
const LABELLED: [&str; 2] = ["s2", "s3"];

/// What a program is made of.
#[derive(Clone, Debug)]
pub struct Input {
    /// The policies as documents.
    pub policies: Vec<Value>,
    /// What the sets hold.
    pub sets: Sets,
}

/// Mostly some rules, sometimes as many as an interface has room for.
pub fn inputs() -> impl Strategy<Value = Input> {
    let bytes = || (uniform32(any::<u8>()), uniform32(any::<u8>()));
    let rules =
        prop_oneof![14 => vec(bytes(), 1..10), 8 => vec(bytes(), 10..50), 1 => vec(bytes(), 300..1025)];
    let policies = vec((uniform32(any::<u8>()), rules), 1..4);
    let members = vec(uniform32(any::<u8>()), 4);
    (policies, members).prop_map(|(policies, members)| Input {
        policies: policies
            .iter()
            .zip(["a", "b", "c"])
            .map(|((head, rules), name)| document(name, head, rules))
            .collect(),
        sets: SETS
            .iter()
            .zip(&members)
            .map(|(name, bytes)| ((*name).to_owned(), members_of(bytes)))
            .collect(),
    })
}

impl Input {
    /// What the compiler makes of it; `None` if it finds no room for any of the policies.
    pub fn plan(&self) -> Option<InterfacePlan> {
        let parse = |document| {
            parse_document("random.yaml", document)
                .unwrap_or_else(|problems| panic!("{problems:?}\n{document}"))
        };
        let policies: Vec<_> = self.policies.iter().map(parse).collect();
        let links = vec![LinkFacts { ifindex: 2, name: "eth0".to_owned(), ..LinkFacts::default() }];
        let names = SETS.into_iter().chain(["empty"]);
        let sets =
            names.map(|name| SetFacts { name: name.to_owned(), labels: labels(name), wide: Vec::new() });
        let node = Node { links, facts: facts(), sets: sets.collect() };
        compile(&policies, &node).interfaces.pop()
    }
}

fn labels(set: &str) -> BTreeMap<String, String> {
    let label = LABELLED.contains(&set).then(|| ("list".to_owned(), "big".to_owned()));
    label.into_iter().collect()
}

fn members_of(bytes: &[u8]) -> Vec<IpNet> {
    let choices = &mut Choices::new(bytes);
    let count = choices.below(8);
    (0..count).map(|_| if choices.chance(40) { prefix_v6(choices) } else { prefix_v4(choices) }).collect()
}

fn document(name: &str, head: &[u8], rules: &[([u8; 32], [u8; 32])]) -> Value {
    let named = |(index, (one, other)): (usize, &([u8; 32], [u8; 32]))| {
        let mut rule = rule(&mut Choices::new(&[*one, *other].concat()));
        rule["name"] = json!(format!("r{index}"));
        rule
    };
    let rules: Vec<Value> = rules.iter().enumerate().map(named).collect();
    let choices = &mut Choices::new(head);
    let mut spec = json!({"interfaces": [{"names": ["eth0"]}], "rules": rules});
    spec["priority"] = json!(choices.of(&[100, 10, 100]));
    spec["enforcement"] = json!(choices.of(&["Enforce", "Enforce", "DryRun"]));
    if let Some(action) = choices.of(&[None, Some("Drop"), None, Some("Pass")]) {
        spec["defaultAction"] = json!(action);
    }
    spec["failsafe"] = failsafe(choices);
    json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "XdpPolicy", "metadata": {"name": name}, "spec": spec})
}

/// It hides what lies behind it, so that services are switched off more often than a user would.
fn failsafe(choices: &mut Choices<'_>) -> Value {
    let mut services = Map::new();
    for service in Service::ALL {
        let has_sources = !matches!(service, Service::Arp | Service::LinkControl);
        match choices.of(&[0, 0, 1, 2]) {
            1 => services.insert(service.name().to_owned(), json!({"disabled": true})),
            2 if has_sources => {
                services.insert(service.name().to_owned(), json!({"sources": prefixes(choices, None)}))
            }
            _ => None,
        };
    }
    let mut failsafe = Map::new();
    if !services.is_empty() {
        failsafe.insert("services".to_owned(), Value::Object(services));
    }
    if choices.chance(25) {
        let mut extra =
            json!({"protocol": choices.of(&[TCP, UDP, SCTP]), "sources": prefixes(choices, None)});
        if choices.chance(70) {
            extra["ports"] = ports(choices);
        }
        failsafe.insert("extra".to_owned(), json!([extra]));
    }
    Value::Object(failsafe)
}
