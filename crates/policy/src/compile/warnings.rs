//! What the policies of an interface allow but probably do not mean. Each warning says what to do, and none
//! changes the plan.

mod defaults;
mod failsafe;
mod peers;
mod unreached;

use super::interface::Accepted;
use super::reach::Reach;
use super::sets::ResolvedNode;
use crate::{PolicyReport, Warning};

/// Warnings of one interface, each with the policy that it is for.
type Found = Vec<(String, Warning)>;

/// Adds the warnings of an interface to the reports of its policies. One that another interface gave in the
/// same words is not repeated.
pub(super) fn add(accepted: &Accepted<'_>, node: &ResolvedNode<'_>, reports: &mut [PolicyReport]) {
    let mut reach = Reach::new(&accepted.plan.rules);
    let mut found = Found::new();
    for resolved in &accepted.policies {
        let own = resolved.warnings.iter().map(|warning| (resolved.policy.name.clone(), warning.clone()));
        found.extend(own);
    }
    unreached::find(&accepted.plan, &reach, &mut found);
    failsafe::find(accepted, &mut reach, node.facts, &mut found);
    defaults::find(&accepted.plan, &mut reach, &mut found);
    peers::find(&accepted.plan, &mut reach, node, &mut found);
    for (policy, warning) in found {
        let report = reports.iter_mut().find(|report| report.name == policy);
        if let Some(report) = report.filter(|report| !report.warnings.contains(&warning)) {
            report.warnings.push(warning);
        }
    }
}

fn warn(found: &mut Found, policy: &str, reason: &'static str, message: String) {
    found.push((policy.to_owned(), Warning { reason, message }));
}
