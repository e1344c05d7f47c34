//! What is allowed but probably not meant, word by word.

use sluice_policy::{Action, Fields, Node, NodeFacts, Policy, SetFacts, TcpFlags, compile};

use crate::helpers::{
    TCP, UDP, default_drop, dry_run, from, from_sets, limit, node, prefixes_of, rule, to_port, warnings,
    with_rules,
};

fn on_eth0(policies: &[Policy]) -> sluice_policy::NodePlan {
    compile(policies, &node(&["eth0"]))
}

fn never_reached(policies: &[Policy], policy: &str) -> String {
    warnings(&on_eth0(policies), policy, "RuleNeverReached").join("\n")
}

#[test]
fn a_rule_behind_another_of_its_policy() {
    let rules = vec![
        rule("wide", from(&["10.0.0.0/8"]), Action::Drop),
        rule("narrow", from(&["10.1.0.0/16"]), Action::Pass),
    ];
    insta::assert_snapshot!(never_reached(&[with_rules("p", rules)], "p"), @"rule narrow is never reached on eth0: p/wide before it decides about all that it matches. Remove it, or move the narrower match up.");
}

#[test]
fn a_rule_behind_the_failsafe() {
    let rules = vec![rule(
        "no-ssh",
        Fields { sources: prefixes_of(&["203.0.113.0/24"]), ..to_port(TCP, 22) },
        Action::Drop,
    )];
    insta::assert_snapshot!(never_reached(&[with_rules("p", rules)], "p"), @"rule no-ssh is never reached on eth0: failsafe/ssh before it decides about all that it matches. Remove it, or narrow the failsafe.");
}

#[test]
fn all_rules_behind_a_default_are_one_warning() {
    let rules = (1..9).map(|port| rule(&format!("r{port}"), to_port(UDP, port), Action::Count)).collect();
    let policies = [default_drop("a", vec![]), with_rules("b", rules)];
    insta::assert_snapshot!(never_reached(&policies, "b"), @"rules r1, r2, r3, r4, r5 and 3 more are never reached on eth0: a/defaultAction before them decides about all that they match. Remove them, or give this policy the lower priority number.");
    let policies = [dry_run(default_drop("a", vec![])), policies[1].clone()];
    assert_eq!(never_reached(&policies, "b"), "", "a dry run ends only itself");
}

#[test]
fn a_limit_without_a_pass_behind_it() {
    let limiting = || rule("limit-game", to_port(UDP, 27015), limit(10_000));
    let of = |policies: &[Policy], name: &str| {
        warnings(&on_eth0(policies), name, "RateLimitWithoutPass").join("\n")
    };
    insta::assert_snapshot!(of(&[with_rules("a", vec![limiting()]), default_drop("b", vec![])], "a"), @"packets within the limit of rule limit-game fall to defaultAction Drop of policy b. Add a Pass rule with the same match after it.");
    let other = rule("web", to_port(TCP, 443), Action::Pass);
    assert_ne!(of(&[default_drop("a", vec![limiting(), other])], "a"), "", "that passes something else");
    let pass = rule("game", to_port(UDP, 27015), Action::Pass);
    assert_eq!(of(&[default_drop("a", vec![limiting(), pass.clone()])], "a"), "");
    assert_ne!(of(&[default_drop("a", vec![pass, limiting()])], "a"), "", "it has to come after");
    assert_eq!(of(&[with_rules("a", vec![limiting()])], "a"), "", "nothing drops");
    assert_eq!(of(&[dry_run(with_rules("a", vec![limiting()])), default_drop("b", vec![])], "a"), "");
    assert_eq!(of(&[with_rules("a", vec![limiting()]), dry_run(default_drop("b", vec![]))], "a"), "");
}

#[test]
fn replies_pass_by_their_flag() {
    let answered = |unset| {
        let tcp_flags = Some(TcpFlags { set: 0x10, unset });
        rule("answers", Fields { protocol: Some(TCP), tcp_flags, ..Fields::default() }, Action::Pass)
    };
    let of = |rule| warnings(&on_eth0(&[default_drop("p", vec![rule])]), "p", "RepliesDropped").len();
    assert_eq!(of(rule("web", to_port(TCP, 443), Action::Pass)), 1);
    assert_eq!(of(answered(0)), 0);
    assert_eq!(of(answered(0x02)), 1, "without SYN and ACK no connection begins");
}

fn cidr_09(rules: Vec<sluice_policy::Rule>) -> String {
    let facts = NodeFacts {
        addresses: prefixes_of(&["198.51.100.20/24"]),
        gateways: vec!["198.51.100.1".parse().unwrap()],
        api_servers: vec!["203.0.113.40:6443".parse().unwrap()],
        resolvers: vec!["192.0.2.53".parse().unwrap()],
        ..NodeFacts::default()
    };
    let wide = prefixes_of(&["0.0.0.0/0", "::/0", "192.0.2.0/24"]);
    assert!(wide.iter().all(|prefix| facts.is_notable(prefix)));
    let wide = vec![SetFacts { name: "bad".to_owned(), wide, ..SetFacts::default() }];
    let node = Node { facts, sets: wide, ..node(&["eth0", "eth1"]) };
    warnings(&compile(&[with_rules("p", rules)], &node), "p", "CoversNodePeers").join("\n")
}

#[test]
fn cidr_09_a_set_that_covers_what_the_node_talks_to() {
    insta::assert_snapshot!(cidr_09(vec![rule("bad-sources", from_sets(&["bad"]), Action::Drop)]), @"rule bad-sources drops what comes from 0.0.0.0/0 in XdpCidrSet bad, 192.0.2.0/24 in XdpCidrSet bad, which covers this node's API server 203.0.113.40, gateway 198.51.100.1, resolver 192.0.2.53: only what the failsafe passes of these gets through. Take the prefix out, or pass these addresses in a rule before it.");
    let friends = rule("friends", from(&["198.51.100.0/24", "203.0.113.40/32"]), Action::Pass);
    insta::assert_snapshot!(cidr_09(vec![friends, rule("r", from_sets(&["bad"]), Action::Drop)]), @"rule r drops what comes from 0.0.0.0/0 in XdpCidrSet bad, 192.0.2.0/24 in XdpCidrSet bad, which covers this node's resolver 192.0.2.53: only what the failsafe passes of these gets through. Take the prefix out, or pass these addresses in a rule before it.");
}

#[test]
fn cidr_09_prefixes_in_the_policy_itself() {
    insta::assert_snapshot!(cidr_09(vec![rule("r", from(&["192.0.2.0/24"]), Action::Drop)]), @"rule r drops what comes from 192.0.2.0/24, which covers this node's resolver 192.0.2.53: only what the failsafe passes of these gets through. Take the prefix out, or pass these addresses in a rule before it.");
    assert_eq!(cidr_09(vec![rule("r", from(&["10.0.0.0/8"]), Action::Drop)]), "");
    let telnet = Fields { sources: prefixes_of(&["0.0.0.0/0"]), ..to_port(TCP, 23) };
    assert_eq!(cidr_09(vec![rule("r", telnet, Action::Drop)]), "", "who names a port means it");
    let mut excepting = rule("r", from(&["192.0.2.0/24"]), Action::Drop);
    excepting.matcher.not = Some(from(&["192.0.2.53/32"]));
    assert_eq!(cidr_09(vec![excepting]), "");
}

#[test]
fn notable_prefixes_are_wide_or_cover_the_node() {
    let facts = NodeFacts { addresses: prefixes_of(&["198.51.100.20/24"]), ..NodeFacts::default() };
    let is_notable = |text: &str| facts.is_notable(&text.parse().unwrap());
    assert!(is_notable("10.0.0.0/8") && is_notable("2001::/16") && is_notable("198.51.100.16/28"));
    assert!(!is_notable("10.0.0.0/9") && !is_notable("2001:db8::/17") && !is_notable("198.51.100.0/28"));
}
