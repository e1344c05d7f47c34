//! Which devices policies get: `cases/selection.yaml`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;

use common::{cases, parse};
use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};
use sluice_policy::{LinkFacts, Node, NodePlan, Policy, compile};

#[derive(Deserialize)]
struct Case {
    links: Vec<LinkFacts>,
    variants: Vec<Variant>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Variant {
    policies: Vec<Asked>,
    plan: BTreeMap<String, Vec<String>>,
    order: Option<Vec<String>>,
    #[serde(default)]
    mode: BTreeMap<String, String>,
    #[serde(default)]
    matched_by: BTreeMap<String, String>,
    #[serde(default)]
    skipped: Vec<(String, String, String)>,
    #[serde(default)]
    conflicts: Vec<(String, String, String)>,
    #[serde(default)]
    warnings: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    name: String,
    priority: Option<i32>,
    mode: Option<String>,
    interfaces: Option<Value>,
    port: Option<u16>,
    action: Option<String>,
}

impl Asked {
    fn policy(&self) -> Policy {
        let document = json!({
            "apiVersion": "sluice.dev/v1alpha1",
            "kind": "XdpPolicy",
            "metadata": {"name": self.name},
            "spec": {
                "priority": self.priority,
                "mode": self.mode,
                "interfaces": self.interfaces.clone().unwrap_or(json!([{"names": ["eth0"]}])),
                "rules": [{
                    "name": "rule",
                    "match": {"protocol": "UDP", "destinationPorts": [self.port.unwrap_or(9)]},
                    "action": {"type": self.action.as_deref().unwrap_or("Drop")},
                }],
            },
        });
        parse(&document).unwrap()
    }
}

#[rstest]
#[case::if_01("IF-01")]
#[case::if_02("IF-02")]
#[case::if_03("IF-03")]
#[case::if_04("IF-04")]
#[case::if_07("IF-07")]
#[case::if_08("IF-08")]
#[case::if_09("IF-09")]
#[case::ops_09("OPS-09")]
#[case::pol_16("POL-16")]
fn plans(#[case] id: &str) {
    for case in cases::<Case>("selection.yaml", id) {
        for variant in &case.variants {
            let policies: Vec<Policy> = variant.policies.iter().map(Asked::policy).collect();
            let plan = compile(&policies, &node(case.links.clone()));
            check(&plan, variant);
            let backwards = compile(&reversed(&policies), &node(reversed(&case.links)));
            assert_eq!(plan, backwards, "the order of the arguments must not matter");
        }
    }
}

fn node(links: Vec<LinkFacts>) -> Node {
    Node { links, ..Node::default() }
}

fn reversed<T: Clone>(values: &[T]) -> Vec<T> {
    values.iter().rev().cloned().collect()
}

fn check(plan: &NodePlan, wanted: &Variant) {
    let by_name: BTreeMap<_, _> =
        plan.interfaces.iter().map(|interface| (interface.name.clone(), interface)).collect();
    let policies: BTreeMap<_, _> =
        by_name.iter().map(|(name, interface)| (name.clone(), interface.policies.clone())).collect();
    assert_eq!(policies, wanted.plan);
    for (name, mode) in &wanted.mode {
        assert_eq!(by_name[name].mode.as_str(), mode, "mode of {name}");
    }
    for (name, by) in &wanted.matched_by {
        assert_eq!(&by_name[name].matched_by, by);
    }
    if let Some(order) = &wanted.order {
        let names: Vec<&String> = plan.interfaces.iter().map(|interface| &interface.name).collect();
        assert_eq!(names, order.iter().collect::<Vec<_>>());
    }
    check_reports(plan, wanted);
}

fn check_reports(plan: &NodePlan, wanted: &Variant) {
    let skipped = plan.skipped.iter();
    let skipped = skipped.map(|skip| (skip.policy.clone(), skip.interface.clone(), skip.reason.to_owned()));
    assert_eq!(skipped.collect::<Vec<_>>(), wanted.skipped, "{:#?}", plan.skipped);
    let mut conflicts = Vec::new();
    let mut warnings = Vec::new();
    for report in &plan.policies {
        for conflict in &report.conflicts {
            conflicts.push((report.name.clone(), conflict.interface.clone(), conflict.reason.to_owned()));
        }
        for warning in &report.warnings {
            warnings.push((report.name.clone(), warning.reason.to_owned()));
        }
        let on: Vec<String> = wanted
            .plan
            .iter()
            .filter(|(_, policies)| policies.contains(&report.name))
            .map(|(interface, _)| interface.clone())
            .collect();
        assert_eq!(report.interfaces, on, "interfaces of {}", report.name);
    }
    assert_eq!(conflicts, wanted.conflicts);
    assert_eq!(warnings, wanted.warnings, "{:#?}", plan.policies);
}
