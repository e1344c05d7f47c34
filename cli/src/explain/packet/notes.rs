//! What an explanation does not know, and what an agent would not do, in words.

use sluice_policy::reference::Explanation;
use sluice_policy::{Action, Fields, InterfacePlan, NodePlan, PlannedRule, Policy};

/// Everything to know beside the rules.
pub fn notes(
    plan: &NodePlan,
    interface: &InterfacePlan,
    policies: &[Policy],
    explanation: &Explanation,
) -> Vec<String> {
    let mut notes = absent(plan, interface);
    notes.extend(refused(policies));
    if interface.rules.iter().any(reads_sets) {
        notes.push("What address sets hold is not known here; they are taken for empty.".to_owned());
    }
    let mut counted = explanation.verdict.counted.iter().filter_map(|index| interface.rules.get(*index));
    if counted.any(|rule| matches!(rule.action, Action::RateLimit(_))) {
        notes.push("The packet is taken to be within every rate limit.".to_owned());
    }
    let failsafe =
        "What the failsafe passes for a node's API servers, resolvers and tunnels is not known here.";
    notes.push(failsafe.to_owned());
    notes
}

/// Policies that cannot be on the interface, so that none of their rules is in the table.
fn absent(plan: &NodePlan, interface: &InterfacePlan) -> Vec<String> {
    let conflicts = plan.policies.iter().flat_map(|report| {
        let here = report.conflicts.iter().filter(|conflict| conflict.interface == interface.name);
        here.map(|conflict| {
            format!("Policy {} is left out: {}: {}", report.name, conflict.reason, conflict.message)
        })
    });
    conflicts.collect()
}

fn refused(policies: &[Policy]) -> impl Iterator<Item = String> {
    policies.iter().flat_map(Policy::not_carried_out).map(|problem| {
        let policy = problem.policy.unwrap_or_default();
        format!("An agent refuses policy {policy}: {}: {}.", problem.field, problem.message)
    })
}

fn reads_sets(rule: &PlannedRule) -> bool {
    let reads = |fields: &Fields| fields.source_sets.is_some() || fields.destination_sets.is_some();
    reads(&rule.matcher.fields) || rule.matcher.not.as_ref().is_some_and(reads)
}
