//! The failsafe of an interface, and what policies change of it.

use sluice_policy::failsafe::{Service, ServiceChange};
use sluice_policy::{Action, Failsafe, Fields, NodeFacts, NodePlan, Policy, compile};

use crate::helpers::{
    TCP, default_drop, dry_run, from, names, node, policy, prefixes_of, rule, to_port, warnings,
};

fn facts() -> NodeFacts {
    NodeFacts {
        api_servers: ["[2001:db8:f::1]:443", "203.0.113.40:6443", "203.0.113.41:6443", "203.0.113.40:6443"]
            .map(|endpoint| endpoint.parse().unwrap())
            .to_vec(),
        resolvers: vec!["192.0.2.53".parse().unwrap(), "2001:db8::53".parse().unwrap()],
        overlay_ports: vec![8472, 51820, 8472],
        ..NodeFacts::default()
    }
}

fn changing(name: &str, changes: &[(Service, ServiceChange)]) -> Policy {
    let services = changes.iter().cloned().collect();
    Policy { failsafe: Failsafe { services, extra: Vec::new() }, ..policy(name) }
}

fn sources(prefixes: &[&str]) -> ServiceChange {
    ServiceChange::Sources(prefixes_of(prefixes))
}

fn plan(policies: &[Policy]) -> NodePlan {
    let mut node = node(&["eth0"]);
    node.facts = facts();
    compile(policies, &node)
}

/// The matches of the failsafe's rules with this name.
fn passes(plan: &NodePlan, name: &str) -> Vec<Fields> {
    let rules = plan.interfaces[0].rules.iter();
    let chosen = rules.filter(|rule| rule.is_failsafe() && rule.rule == name);
    chosen.map(|rule| rule.matcher.fields.clone()).collect()
}

#[test]
fn every_service_as_it_is_without_changes() {
    let plan = plan(&[policy("p")]);
    let rules = &plan.interfaces[0].rules;
    assert!(
        rules
            .iter()
            .all(|rule| rule.is_failsafe() && rule.action == Action::Pass && rule.policy_end == rules.len())
    );
    insta::assert_yaml_snapshot!(rules.iter().map(|rule| (&rule.rule, &rule.matcher)).collect::<Vec<_>>());
}

#[test]
fn a_service_is_off_only_where_a_policy_says_so() {
    let plan = plan(&[changing("p", &[(Service::Kubelet, ServiceChange::Disabled)])]);
    assert!(passes(&plan, "kubelet").is_empty());
    assert_eq!(passes(&plan, "ssh"), [to_port(TCP, 22)]);
}

#[test]
fn a_narrowed_service_passes_from_its_sources_only() {
    let narrow = sources(&["203.0.113.41/32", "2001:db8::/48"]);
    let plan = plan(&[changing("p", &[(Service::Ssh, narrow.clone()), (Service::ApiServer, narrow)])]);
    let expected = Fields { sources: prefixes_of(&["203.0.113.41/32", "2001:db8::/48"]), ..to_port(TCP, 22) };
    assert_eq!(passes(&plan, "ssh"), [expected]);
    let endpoints: Vec<_> = passes(&plan, "api-server").into_iter().map(|fields| fields.sources).collect();
    assert_eq!(endpoints, [prefixes_of(&["203.0.113.41/32"])], "an endpoint outside of the sources is off");
}

#[test]
fn the_first_policy_wins_and_the_later_is_told() {
    let first = changing("a", &[(Service::Ssh, sources(&["192.0.2.0/24", "2001:db8::/48"]))]);
    let same = changing("b", &[(Service::Ssh, sources(&["2001:db8::/48", "192.0.2.0/24"]))]);
    let other = changing(
        "c",
        &[(Service::Ssh, ServiceChange::Disabled), (Service::Kubelet, ServiceChange::Disabled)],
    );
    let plan = plan(&[other, same, first]);
    assert_eq!(passes(&plan, "ssh")[0].sources.len(), 2);
    assert!(passes(&plan, "kubelet").is_empty(), "nobody else changes it");
    assert_eq!(warnings(&plan, "b", "FailsafeConflict"), Vec::<String>::new());
    insta::assert_snapshot!(warnings(&plan, "c", "FailsafeConflict").join("\n"), @"failsafe.services.SSH is different in policy a, which comes first on eth0 and holds: SSH passes from 192.0.2.0/24, 2001:db8::/48 only. Say the same in both, or change it in one policy only.");
}

#[test]
fn further_traffic_of_all_policies_adds_up() {
    let mut policies = [policy("a"), policy("b")];
    policies[0].failsafe.extra = vec![to_port(TCP, 179)];
    policies[1].failsafe.extra =
        vec![Fields { sources: prefixes_of(&["192.0.2.0/24"]), ..to_port(TCP, 2379) }];
    let plan = plan(&policies);
    assert_eq!(names(&plan).iter().filter(|name| name.starts_with("failsafe/extra")).count(), 2);
    assert_eq!(passes(&plan, "extra-1"), policies[0].failsafe.extra);
    assert_eq!(passes(&plan, "extra-2"), policies[1].failsafe.extra);
}

#[test]
fn a_dry_run_changes_the_failsafe_only_among_dry_runs() {
    let mut trial = dry_run(changing("trial", &[(Service::Ssh, ServiceChange::Disabled)]));
    trial.failsafe.extra = vec![to_port(TCP, 179)];
    let alone = plan(&[trial.clone()]);
    assert!(passes(&alone, "ssh").is_empty(), "counters show what would be");
    assert_eq!(passes(&alone, "extra-1").len(), 1);
    let beside = plan(&[trial, default_drop("web", vec![])]);
    assert_eq!(passes(&beside, "ssh").len(), 1, "no packet depends on a dry run");
    assert!(passes(&beside, "extra-1").is_empty());
    insta::assert_snapshot!(warnings(&beside, "trial", "FailsafeNotInForce").join("\n"), @"failsafe has no effect on eth0 while this policy is a dry run: other policies there are enforced, and a dry run changes no packet. Put the change into one of those, or enforce this policy.");
}

#[test]
fn one_family_only_is_said() {
    let plan = plan(&[changing("p", &[(Service::Ssh, sources(&["192.0.2.0/24"]))])]);
    insta::assert_snapshot!(warnings(&plan, "p", "FailsafeOneFamily").join("\n"), @"failsafe.services.SSH.sources has IPv4 prefixes only: over IPv6 the failsafe does not pass SSH. Add IPv6 prefixes if it is used over IPv6.");
}

#[test]
fn who_locks_himself_out_is_told() {
    let off = |rules| {
        let mut policy = default_drop("p", rules);
        policy.failsafe.services.insert(Service::Ssh, ServiceChange::Disabled);
        plan(&[policy])
    };
    insta::assert_snapshot!(warnings(&off(vec![]), "p", "FailsafeOff").join("\n"), @"failsafe.services.SSH is off and no rule passes TCP to port 22: defaultAction Drop of policy p takes all of it. Pass it in a rule, or give the service sources in place of disabled.");
    let pass = rule("admins", from(&["192.0.2.0/24"]), Action::Pass);
    assert!(warnings(&off(vec![pass]), "p", "FailsafeOff").is_empty());
}
