//! What an interface has room for, and what a plan says about itself.

use sluice_policy::{Action, Enforcement, InterfacePlan, MAX_USER_RULES, Mark, Policy, Rule, compile};

use crate::helpers::{
    TCP, UDP, conflicts, default_drop, dry_run, from, from_sets, limit, node, rule, to_port, with_rules,
};

fn many(name: &str, count: u16) -> Policy {
    let rules = (0..count).map(|port| rule(&format!("r{port}"), to_port(UDP, port % 50), Action::Count));
    with_rules(name, rules.collect())
}

fn on_eth0(policies: &[Policy]) -> InterfacePlan {
    compile(policies, &node(&["eth0"])).interfaces.remove(0)
}

#[test]
fn a_policy_that_finds_no_room_is_left_out_as_a_whole() {
    let mut policies = [many("a", 600), many("b", 500), many("c", 424)];
    for policy in &mut policies {
        policy.default_action = default_drop("d", vec![]).default_action;
    }
    let plan = compile(&policies, &node(&["eth0"]));
    assert_eq!(plan.interfaces[0].policies, ["a", "c"]);
    assert_eq!(
        plan.interfaces[0].user_rules().count(),
        MAX_USER_RULES,
        "the failsafe and defaults do not count"
    );
    let [(reason, message)] = &conflicts(&plan, "b")[..] else { panic!("{:?}", plan.policies) };
    assert_eq!(*reason, "TooManyRules");
    insta::assert_snapshot!(message, @"eth0 carries 600 rules of earlier policies, and at most 1024: there is no room for 500 more. Select fewer interfaces, or join rules.");
}

#[test]
fn each_rule_knows_where_its_policy_ends() {
    let pass = |port| rule("r", to_port(TCP, port), Action::Pass);
    let plan = on_eth0(&[default_drop("b", vec![pass(1), pass(2)]), dry_run(with_rules("a", vec![pass(3)]))]);
    let first = plan.rules.iter().take_while(|rule| rule.is_failsafe()).count();
    let behind: Vec<_> = plan.rules[first..]
        .iter()
        .map(|rule| (rule.policy.as_str(), rule.enforcement, rule.policy_end))
        .collect();
    let (dry_run, enforce) = (Enforcement::DryRun, Enforcement::Enforce);
    let b = ("b", enforce, first + 4);
    assert_eq!(behind, [("a", dry_run, first + 1), b, b, b]);
    assert!(plan.rules[..first].iter().all(|rule| rule.policy_end == first && rule.enforcement == enforce));
    assert!(plan.rules[first + 3].is_default_action());
}

#[test]
fn only_an_enforced_mark_needs_somebody_to_apply_it() {
    let mark = || vec![rule("m", to_port(TCP, 1), Action::Mark(Mark { mark: Some(1), ..Mark::default() }))];
    assert!(on_eth0(&[with_rules("p", mark())]).needs_marks());
    assert!(!on_eth0(&[dry_run(with_rules("p", mark()))]).needs_marks());
    assert!(!on_eth0(&[many("p", 1)]).needs_marks());
}

/// Each of these decides or counts otherwise than the first.
fn variants() -> Vec<Policy> {
    let one = |fields, action| with_rules("p", vec![rule("r", fields, action)]);
    let base = || one(to_port(TCP, 1), Action::Drop);
    let mut excepting = base();
    excepting.rules[0].matcher.not = Some(from(&["192.0.2.0/24"]));
    let mut narrowed = base();
    narrowed.failsafe.extra = vec![to_port(TCP, 179)];
    vec![
        base(),
        one(to_port(TCP, 2), Action::Drop),
        one(to_port(UDP, 1), Action::Drop),
        one(from(&["192.0.2.0/24"]), Action::Drop),
        one(from(&["192.0.2.0/25"]), Action::Drop),
        one(to_port(TCP, 1), Action::Pass),
        one(to_port(TCP, 1), limit(10)),
        one(to_port(TCP, 1), limit(11)),
        one(to_port(TCP, 1), Action::Mark(Mark { mark: Some(1), ..Mark::default() })),
        one(to_port(TCP, 1), Action::Mark(Mark { priority: Some(1), ..Mark::default() })),
        one(to_port(TCP, 1), Action::Socket("fast".to_owned())),
        with_rules("p", vec![rule("s", to_port(TCP, 1), Action::Drop)]),
        with_rules("q", base().rules),
        dry_run(base()),
        default_drop("p", base().rules),
        excepting,
        narrowed,
    ]
}

#[test]
fn the_digest_tells_apart_whatever_decides_or_counts_otherwise() {
    let plans: Vec<InterfacePlan> = variants().into_iter().map(|policy| on_eth0(&[policy])).collect();
    let mut digests: Vec<String> = plans.iter().map(InterfacePlan::digest).collect();
    // Pinned in the kernel under this name: another digest for the same rules would swap every program.
    insta::assert_snapshot!(digests[0], @"18499f391120323e");
    let elsewhere = InterfacePlan { ifindex: 9, name: "eth9".to_owned(), ..plans[0].clone() };
    assert_eq!(elsewhere.digest(), digests[0]);
    let count = digests.len();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

#[test]
fn the_digest_follows_the_facts_and_the_names_of_sets() {
    let rules: Vec<Rule> = vec![rule("r", from_sets(&["a"]), Action::Drop)];
    let mut node = node(&["eth0"]);
    node.sets = vec![sluice_policy::SetFacts { name: "a".to_owned(), ..Default::default() }];
    let digest = |node: &_| compile(&[with_rules("p", rules.clone())], node).interfaces[0].digest();
    let before = digest(&node);
    node.sets[0].wide = vec!["10.0.0.0/8".parse().unwrap()];
    assert_eq!(digest(&node), before, "what a set holds is no part of the program");
    node.facts.resolvers = vec!["192.0.2.53".parse().unwrap()];
    assert_ne!(digest(&node), before);
}
