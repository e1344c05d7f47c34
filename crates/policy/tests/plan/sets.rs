//! References to address sets.

use std::collections::BTreeMap;

use serde_json::json;
use sluice_policy::{Action, Fields, Node, Policy, SetFacts, SetReference, compile};

use crate::helpers::{conflicts, from_sets, node, rule, warnings, with_rules};

fn set(name: &str, list: &str) -> SetFacts {
    let labels = BTreeMap::from([("list".to_owned(), list.to_owned())]);
    SetFacts { name: name.to_owned(), labels, wide: Vec::new() }
}

fn with_sets(sets: Vec<SetFacts>) -> Node {
    Node { sets, ..node(&["eth0"]) }
}

fn labelled(names: &[&str], list: &str) -> Fields {
    let selector = serde_json::from_value(json!({"matchLabels": {"list": list}})).unwrap();
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Fields { source_sets: Some(SetReference { names, selector: Some(selector) }), ..Fields::default() }
}

fn drops(name: &str, fields: Vec<Fields>) -> Policy {
    let rules = (1..).zip(fields).map(|(number, fields)| rule(&format!("r{number}"), fields, Action::Drop));
    with_rules(name, rules.collect())
}

#[test]
fn names_and_selected_sets_are_one_list() {
    let sets = vec![set("big-2", "big"), set("other", "small"), set("big-1", "big")];
    let fields =
        vec![labelled(&["other", "big-1"], "big"), labelled(&[], "big"), from_sets(&["big-2", "big-1"])];
    let plan = compile(&[drops("p", fields)], &with_sets(sets));
    assert_eq!(plan.lists, [vec!["big-1", "big-2"], vec!["big-1", "big-2", "other"]]);
    assert_eq!(plan.interfaces[0].lists(), plan.lists);
    let reference = |index: usize| {
        let rule = plan.interfaces[0].user_rules().nth(index).unwrap();
        rule.matcher.fields.source_sets.clone().unwrap()
    };
    assert_eq!(reference(0).names, ["big-1", "big-2", "other"]);
    assert_eq!(reference(1), reference(2), "the same sets are the same list, however they are named");
    assert!(reference(0).selector.is_none());
}

#[test]
fn sets_under_not_are_resolved_too() {
    let mut policy = drops("p", vec![Fields { protocol: Some(17), ..Fields::default() }]);
    policy.rules[0].matcher.not = Some(labelled(&[], "big"));
    let plan = compile(&[policy], &with_sets(vec![set("big-1", "big")]));
    assert_eq!(plan.lists, [["big-1"]]);
}

#[test]
fn a_selector_that_selects_nothing_is_an_empty_list() {
    let plan = compile(&[drops("p", vec![labelled(&[], "big")])], &with_sets(vec![set("other", "small")]));
    assert_eq!(plan.lists, [Vec::<String>::new()]);
    insta::assert_snapshot!(warnings(&plan, "p", "NoSetSelected").join("\n"), @"rule r1 (sourceSets): no XdpCidrSet of this node has labels that the selector asks for, so the field fits no packet. Label the sets that are meant, or correct the selector.");
    assert!(warnings(&plan, "p", "RuleNeverReached").is_empty());
}

#[test]
fn cidr_12_a_set_that_does_not_exist() {
    let needs_drop = with_rules("needs-drop", vec![rule("r", from_sets(&["drop-list"]), Action::Drop)]);
    let other = drops("other", vec![from_sets(&["good"])]);
    let plan = compile(&[needs_drop.clone(), other], &with_sets(vec![set("good", "x")]));
    assert_eq!(plan.interfaces[0].policies, ["other"]);
    assert_eq!(plan.lists, [["good"]]);
    let [(reason, message)] = &conflicts(&plan, "needs-drop")[..] else { panic!("{:?}", plan.policies) };
    assert_eq!(*reason, "CidrSetNotFound");
    insta::assert_snapshot!(message, @"rule r (sourceSets) names drop-list, and this node has no such XdpCidrSet. Create it, or correct the name.");
    let plan = compile(&[needs_drop], &with_sets(vec![set("drop-list", "x")]));
    assert_eq!(plan.interfaces[0].policies, ["needs-drop"]);
}

#[test]
fn more_lists_than_a_node_can_tell_apart() {
    let name = |number: usize| format!("s{number:03}");
    let sets = (0..70).map(|number| set(&name(number), "x")).collect();
    let of = |numbers: std::ops::Range<usize>| numbers.map(|number| from_sets(&[&name(number)])).collect();
    let policies = [drops("a", of(0..60)), drops("b", of(50..65)), drops("c", of(56..64))];
    let plan = compile(&policies, &Node { sets, ..node(&["eth0", "eth1"]) });
    for interface in &plan.interfaces {
        assert_eq!(interface.policies, ["a", "c"]);
    }
    assert_eq!(plan.lists.len(), 64);
    let conflicts = conflicts(&plan, "b");
    assert_eq!(conflicts.iter().map(|(reason, _)| *reason).collect::<Vec<_>>(), ["TooManySetLists"; 2]);
    insta::assert_snapshot!(conflicts[0].1, @"the rules of this node ask for 60 different lists of address sets, and at most 64 are possible: there is no room for 5 more. Refer to the same sets together, or put them under one label.");
}
