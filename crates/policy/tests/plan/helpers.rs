//! Policies, rules and nodes in few words.

use ipnet::IpNet;
use serde_json::Value;
use sluice_policy::{
    Action, DefaultAction, Enforcement, Failsafe, Fields, InterfaceSelector, LinkFacts, Matcher, Mode, Node,
    NodePlan, Policy, PortRange, RateLimit, RateUnit, Rule, SetReference, SourcePrefix,
};

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

/// A policy for every interface, without rules.
pub fn policy(name: &str) -> Policy {
    let drivers = vec!["ixgbe".to_owned()];
    Policy {
        name: name.to_owned(),
        file: "p.yaml".to_owned(),
        document: Value::Null,
        priority: 100,
        mode: Mode::Auto,
        enforcement: Enforcement::Enforce,
        default_action: None,
        failsafe: Failsafe::default(),
        interfaces: vec![InterfaceSelector { drivers, ..InterfaceSelector::default() }],
        rules: Vec::new(),
    }
}

pub fn with_rules(name: &str, rules: Vec<Rule>) -> Policy {
    Policy { rules, ..policy(name) }
}

pub fn default_drop(name: &str, rules: Vec<Rule>) -> Policy {
    Policy { default_action: Some(DefaultAction::Drop), ..with_rules(name, rules) }
}

pub fn dry_run(policy: Policy) -> Policy {
    Policy { enforcement: Enforcement::DryRun, ..policy }
}

pub fn rule(name: &str, fields: Fields, action: Action) -> Rule {
    Rule { name: name.to_owned(), matcher: Matcher { fields, not: None }, action }
}

pub fn to_port(protocol: u8, port: u16) -> Fields {
    let destination_ports = vec![PortRange { first: port, last: port }];
    Fields { protocol: Some(protocol), destination_ports, ..Fields::default() }
}

pub fn from(prefixes: &[&str]) -> Fields {
    Fields { sources: prefixes_of(prefixes), ..Fields::default() }
}

pub fn prefixes_of(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

pub fn from_sets(names: &[&str]) -> Fields {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Fields { source_sets: Some(SetReference { names, selector: None }), ..Fields::default() }
}

pub fn limit(rate: u64) -> Action {
    let per_source = Some(SourcePrefix { v4: 32, v6: 64 });
    Action::RateLimit(RateLimit { rate, unit: RateUnit::Packets, burst: rate, per_source })
}

/// A node with these interfaces.
pub fn node(names: &[&str]) -> Node {
    let link = |(ifindex, name): (u32, &&str)| LinkFacts {
        ifindex,
        name: (*name).to_owned(),
        driver: Some("ixgbe".to_owned()),
        ..LinkFacts::default()
    };
    Node { links: (2..).zip(names).map(link).collect(), ..Node::default() }
}

/// The warnings of a policy with this reason.
pub fn warnings(plan: &NodePlan, policy: &str, reason: &str) -> Vec<String> {
    let report = plan.policies.iter().find(|report| report.name == policy).unwrap();
    let chosen = report.warnings.iter().filter(|warning| warning.reason == reason);
    chosen.map(|warning| warning.message.clone()).collect()
}

/// The conflicts of a policy, by reason, with their messages.
pub fn conflicts(plan: &NodePlan, policy: &str) -> Vec<(&'static str, String)> {
    let report = plan.policies.iter().find(|report| report.name == policy).unwrap();
    report.conflicts.iter().map(|conflict| (conflict.reason, conflict.message.clone())).collect()
}

/// The names of the rules of the first interface.
pub fn names(plan: &NodePlan) -> Vec<String> {
    plan.interfaces[0].rules.iter().map(|rule| format!("{}/{}", rule.policy, rule.rule)).collect()
}
