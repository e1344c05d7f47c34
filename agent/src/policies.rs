//! What became of each policy: from the files, the plan, and what the interfaces run.

use std::collections::BTreeMap;

use sluice_ipc::v1alpha1::{self as ipc, PolicyState};
use sluice_policy::{Enforcement, Policy, PolicyReport, Problem, Reason};

use crate::{
    interface::Interface,
    node::Node,
    policy_directory::{Kept, named},
};

/// The status of every policy that is in force or was refused.
pub fn report(node: &Node) -> Vec<ipc::PolicyStatus> {
    let mut problems = problems_by_policy(node);
    let mut all = Vec::new();
    for policy in &node.snapshot.policies {
        let report = node.plan.policies.iter().find(|report| report.name == policy.name);
        let mut status = ipc::PolicyStatus {
            name: policy.name.clone(),
            file: policy.file.clone(),
            state: state(node, &policy.name, report).into(),
            problems: problems.remove(&policy.name).unwrap_or_default(),
            dry_run: policy.enforcement == Enforcement::DryRun,
            ..ipc::PolicyStatus::default()
        };
        if let Some(report) = report {
            status.interfaces = programmed(node, &report.name);
            status.warnings = warnings(report);
        }
        status.warnings.extend(sets_gone(node, policy));
        all.push(status);
    }
    all.extend(problems.into_iter().map(refused));
    all
}

/// What became of each policy that is in force or should be.
pub fn states(node: &Node) -> impl Iterator<Item = (String, PolicyState)> {
    node.snapshot.policies.iter().map(|policy| (policy.name.clone(), state_of(node, &policy.name)))
}

fn state_of(node: &Node, name: &str) -> PolicyState {
    state(node, name, node.plan.policies.iter().find(|report| report.name == name))
}

fn refused((name, problems): (String, Vec<ipc::Problem>)) -> ipc::PolicyStatus {
    let file = problems.first().map(|problem| problem.file.clone()).unwrap_or_default();
    let state = PolicyState::Refused.into();
    ipc::PolicyStatus { name, file, state, problems, ..ipc::PolicyStatus::default() }
}

fn state(node: &Node, name: &str, report: Option<&PolicyReport>) -> PolicyState {
    // Without a report it has not been compiled: the links could not be read.
    let Some(report) = report else { return PolicyState::NotProgrammed };
    if !report.conflicts.is_empty() {
        PolicyState::Conflict
    } else if report.interfaces.is_empty() {
        PolicyState::NoMatchingInterface
    } else if programmed(node, name).len() < report.interfaces.len() {
        PolicyState::NotProgrammed
    } else if node.snapshot.stale.iter().any(|stale| stale.policy == name) {
        PolicyState::LastGood
    } else {
        PolicyState::InForce
    }
}

/// Names of the interfaces that run the policy as it stands now.
fn programmed(node: &Node, policy: &str) -> Vec<String> {
    let runs = |interface: &&Interface| {
        let plan = interface.in_force.as_ref().filter(|_| interface.is_programmed());
        plan.is_some_and(|plan| plan.policies.iter().any(|name| name == policy))
    };
    let running = node.interfaces.values().filter(runs);
    running.filter_map(Interface::link).map(|link| link.name.clone()).collect()
}

fn warnings(report: &PolicyReport) -> Vec<ipc::Warning> {
    let warnings = report.warnings.iter().map(|warning| (warning.reason, &warning.message));
    let conflicts = report.conflicts.iter().map(|conflict| (conflict.reason, &conflict.message));
    let one = |(reason, message): (&str, &String)| ipc::Warning {
        reason: reason.to_owned(),
        message: message.clone(),
    };
    warnings.chain(conflicts).map(one).collect()
}

/// Sets that the policy names and that are in force from memory only.
fn sets_gone<'a>(node: &'a Node, policy: &'a Policy) -> impl Iterator<Item = ipc::Warning> + 'a {
    let named = named(policy);
    let gone = node.snapshot.sets.iter().filter(|known| known.kept == Some(Kept::Gone));
    gone.filter_map(move |known| {
        let (name, entries) = (&known.set.name, known.set.prefixes.len());
        let rule = named.get(name.as_str())?;
        let message = format!(
            "rule {rule} names {name}, which is no longer there: its last content ({entries} entries) stays in force. \
             Put the set back, or take it out of the rule."
        );
        Some(ipc::Warning { reason: Reason::CidrSetNotFound.as_str().to_owned(), message })
    })
}

/// Problems under the policy that they keep from being read; under no name where the file has none.
fn problems_by_policy(node: &Node) -> BTreeMap<String, Vec<ipc::Problem>> {
    let mut by_policy: BTreeMap<String, Vec<ipc::Problem>> = BTreeMap::new();
    for problem in node.snapshot.files.iter().flat_map(|file| &file.problems) {
        for name in names(node, problem) {
            by_policy.entry(name).or_default().push(to_ipc(problem));
        }
    }
    by_policy
}

/// A problem without a policy is the file's: it concerns every policy that the file last gave.
fn names(node: &Node, problem: &Problem) -> Vec<String> {
    if let Some(name) = &problem.policy {
        return vec![name.clone()];
    }
    let of_file = node.snapshot.stale.iter().filter(|stale| stale.file == problem.file);
    let names: Vec<String> = of_file.map(|stale| stale.policy.clone()).collect();
    if names.is_empty() { vec![String::new()] } else { names }
}

/// The problem as it is sent.
pub fn to_ipc(problem: &Problem) -> ipc::Problem {
    ipc::Problem {
        file: problem.file.clone(),
        policy: problem.policy.clone().unwrap_or_default(),
        field: problem.field.clone(),
        reason: problem.reason.as_str().to_owned(),
        message: problem.message.clone(),
        fix: problem.fix.clone(),
    }
}
