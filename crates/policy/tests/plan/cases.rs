//! Cases of `tests/cases` as whole plans: the plan as it is shown, and what it makes of the packets.

use rstest::rstest;
use serde::Deserialize;
use sluice_policy::failsafe::{Service, ServiceChange};
use sluice_policy::reference::{Decision, NoSets, Unlimited, dissect, evaluate};
use sluice_policy::{Action, InterfacePlan, NodeFacts, NodePlan, Policy, compile};

use crate::frames;
use crate::helpers::{
    TCP, UDP, default_drop, from, limit, node, prefixes_of, rule, to_port, warnings, with_rules,
};

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(default)]
    node: NodeFacts,
    packets: Vec<Packet>,
}

#[derive(Deserialize)]
struct Packet {
    frame: String,
    hex: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    verdict: String,
    by: String,
}

fn case(id: &str) -> Case {
    let all: Vec<Case> = serde_saphyr::from_str(include_str!("../cases/verdicts.yaml")).unwrap();
    all.into_iter().find(|case| case.id == id).unwrap()
}

/// The policies of a case, as they are when they have been checked.
fn policies(id: &str) -> Vec<Policy> {
    let pass = |name, port| rule(name, to_port(TCP, port), Action::Pass);
    let nine = |name, action| rule(name, to_port(UDP, 9), action);
    match id {
        "POL-05" => vec![default_drop("web", vec![pass("https", 443)])],
        "POL-06" => vec![default_drop("closed", vec![pass("only-80", 80)])],
        "POL-07" => {
            let mut closed = default_drop("closed", vec![pass("none", 1)]);
            let sources = prefixes_of(&["192.0.2.0/24", "2001:db8:1::/48"]);
            closed.failsafe.services.insert(Service::Ssh, ServiceChange::Sources(sources));
            vec![closed]
        }
        "POL-13" => vec![default_drop("game", vec![rule("limit-game", to_port(UDP, 27015), limit(10_000))])],
        "POL-16" => {
            let friends = rule("friends", from(&["203.0.113.0/28"]), Action::Pass);
            vec![
                with_rules("b-third", vec![nine("pass9", Action::Pass)]),
                with_rules("a-second", vec![nine("drop9", Action::Drop)]),
                Policy { priority: 10, ..with_rules("z-first", vec![friends]) },
            ]
        }
        other => panic!("no policies for {other}"),
    }
}

fn plan(id: &str, facts: NodeFacts) -> NodePlan {
    let mut node = node(&["eth0"]);
    node.facts = facts;
    compile(&policies(id), &node)
}

fn judged(plan: &InterfacePlan, frame: &[u8]) -> (String, String) {
    let verdict = evaluate(&plan.rules, &NoSets, &mut Unlimited, &dissect(frame));
    let name = |index: usize| format!("{}/{}", plan.rules[index].policy, plan.rules[index].rule);
    let decision = if verdict.decision == Decision::Drop { "Drop" } else { "Pass" };
    (decision.to_owned(), verdict.decided_by.map_or_else(|| "none".to_owned(), name))
}

#[rstest]
#[case::pol_05("POL-05")]
#[case::pol_06("POL-06")]
#[case::pol_07("POL-07")]
#[case::pol_16("POL-16")]
fn verdicts(#[case] id: &str) {
    let case = case(id);
    let plan = plan(id, case.node);
    assert!(!case.packets.is_empty());
    for Packet { frame: words, hex, reference, verdict, by } in case.packets {
        let frame = hex.map_or_else(|| frames::case(&reference.unwrap()).frame(), |hex| frames::bytes(&hex));
        assert_eq!(judged(&plan.interfaces[0], &frame), (verdict, by), "{words}");
    }
}

#[rstest]
#[case::pol_05("POL-05")]
#[case::pol_06("POL-06")]
#[case::pol_16("POL-16")]
fn as_they_are_shown(#[case] id: &str) {
    insta::with_settings!({snapshot_suffix => id}, {
        insta::assert_yaml_snapshot!(plan(id, case(id).node));
    });
}

#[test]
fn pol_13_as_it_is_shown() {
    let plan = plan("POL-13", NodeFacts::default());
    insta::assert_yaml_snapshot!(plan);
    assert_eq!(warnings(&plan, "game", "RateLimitWithoutPass").len(), 1);
}
