//! `verdicts.yaml`: the policies of a case, checked and compiled, and what the reference evaluator makes of
//! each packet.

use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};
use sluice_policy::reference::{Decision, NoSets, Unlimited, dissect, evaluate};
use sluice_policy::{InterfacePlan, LinkFacts, Node, NodeFacts, Policy, compile, parse_document};

use crate::cases::{bytes, case};

static VERDICTS: &str = include_str!("../cases/verdicts.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    #[serde(rename = "title")]
    _title: String,
    #[serde(default)]
    node: NodeFacts,
    policies: Vec<CasePolicy>,
    packets: Vec<CasePacket>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CasePolicy {
    name: String,
    spec: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CasePacket {
    frame: String,
    hex: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    verdict: String,
    by: String,
}

fn all() -> Vec<Case> {
    serde_saphyr::from_str(VERDICTS).unwrap()
}

/// The plan of the one interface that all policies of the case are on.
fn plan_of(case: &Case) -> InterfacePlan {
    let policies: Vec<Policy> = case.policies.iter().map(CasePolicy::checked).collect();
    let links = vec![LinkFacts { ifindex: 2, name: "eth0".to_owned(), ..LinkFacts::default() }];
    let node = Node { links, facts: case.node.clone(), ..Node::default() };
    compile(&policies, &node).interfaces.remove(0)
}

impl CasePolicy {
    fn checked(&self) -> Policy {
        let mut spec = self.spec.clone();
        spec["interfaces"] = json!([{"names": ["eth0"]}]);
        let document = json!({
            "apiVersion": "sluice.dev/v1alpha1",
            "kind": "XdpPolicy",
            "metadata": {"name": self.name},
            "spec": spec,
        });
        parse_document("case.yaml", &document).unwrap()
    }
}

impl CasePacket {
    fn bytes(&self) -> Vec<u8> {
        match (&self.hex, &self.reference) {
            (Some(hex), None) => bytes(hex),
            (None, Some(id)) => case(id).frame(),
            _ => panic!("{}: either hex or ref", self.frame),
        }
    }
}

#[rstest]
#[case::pol_01("POL-01")]
#[case::pol_04("POL-04")]
#[case::pol_05("POL-05")]
#[case::pol_06("POL-06")]
#[case::pol_07("POL-07")]
#[case::pol_08("POL-08")]
#[case::pol_09("POL-09")]
#[case::pol_10("POL-10")]
#[case::pol_11("POL-11")]
#[case::pol_12("POL-12")]
#[case::pol_15("POL-15")]
#[case::pol_16("POL-16")]
fn judges(#[case] id: &str) {
    let case = all().into_iter().find(|case| case.id == id).expect("a case with this id");
    let plan = plan_of(&case);
    for packet in &case.packets {
        let verdict = evaluate(&plan.rules, &NoSets, &mut Unlimited, &dissect(&packet.bytes()));
        let name = |index: usize| format!("{}/{}", plan.rules[index].policy, plan.rules[index].rule);
        let by: &str = &verdict.decided_by.map_or_else(|| "none".to_owned(), name);
        let decision = match verdict.decision {
            Decision::Pass => "Pass",
            Decision::Drop => "Drop",
            other => panic!("{other:?}"),
        };
        assert_eq!((decision, by), (packet.verdict.as_str(), packet.by.as_str()), "{}", packet.frame);
    }
}

#[test]
fn every_case_of_the_file_is_tested() {
    let ids: Vec<String> = all().into_iter().map(|case| case.id).collect();
    let tested = [1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16].map(|number| format!("POL-{number:02}"));
    assert_eq!(ids, tested);
}
