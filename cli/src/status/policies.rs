//! The table of policies, and below it their problems and warnings in full.

use std::fmt::{self, Formatter};

use sluice_ipc::v1alpha1::{PolicyState, PolicyStatus, Problem};

use super::table;
use crate::output::clean;

/// Writes the table and the sentences.
pub fn write(f: &mut Formatter<'_>, policies: &[PolicyStatus], width: Option<u16>) -> fmt::Result {
    if policies.is_empty() {
        return Ok(());
    }
    let columns = ["POLICY", "STATE", "INTERFACES", "FILE"];
    write!(f, "\n{}", table(&columns, policies.iter().map(row).collect(), width))?;
    for policy in policies {
        remarks(f, policy)?;
    }
    Ok(())
}

fn row(policy: &PolicyStatus) -> Vec<String> {
    let interfaces = if policy.interfaces.is_empty() { "-".into() } else { policy.interfaces.join(", ") };
    vec![name(policy), state(policy), interfaces, policy.file.clone()]
}

fn state(policy: &PolicyStatus) -> String {
    match (policy.state(), policy.dry_run) {
        (PolicyState::InForce, true) => "DryRun".into(),
        (state, true) => format!("{} (dry run)", state.name()),
        (state, false) => state.name().into(),
    }
}

fn name(policy: &PolicyStatus) -> String {
    if policy.name.is_empty() { "(no name)".into() } else { policy.name.clone() }
}

fn remarks(f: &mut Formatter<'_>, policy: &PolicyStatus) -> fmt::Result {
    let subject = clean(&name(policy));
    match policy.state() {
        PolicyState::LastGood => {
            writeln!(
                f,
                "  {subject}: what its file says now cannot be used; what it last gave stays in force"
            )?;
        }
        PolicyState::Refused => writeln!(f, "  {subject}: refused; nothing of it is in force")?,
        PolicyState::NoMatchingInterface => {
            writeln!(f, "  {subject}: good, but no interface of this node matches")?;
        }
        PolicyState::Conflict => {
            writeln!(
                f,
                "  {subject}: an earlier policy wants something else of the same interface, and wins"
            )?;
        }
        PolicyState::NotProgrammed => {
            writeln!(f, "  {subject}: good, but an interface that it selects does not run it; see there")?;
        }
        PolicyState::InForce if policy.dry_run => {
            writeln!(f, "  {subject}: a dry run: counted as if it were enforced; it changes no packet")?;
        }
        PolicyState::InForce | PolicyState::Unspecified => {}
    }
    for problem in &policy.problems {
        write_problem(f, problem)?;
    }
    for warning in &policy.warnings {
        writeln!(f, "  {subject}: warning: {}: {}", clean(&warning.reason), clean(&warning.message))?;
    }
    Ok(())
}

/// File, field, reason and message on one line, so that a search finds them together.
pub fn write_problem(f: &mut Formatter<'_>, problem: &Problem) -> fmt::Result {
    write!(f, "    {}: ", clean(&problem.file))?;
    if !problem.field.is_empty() {
        write!(f, "{}: ", clean(&problem.field))?;
    }
    writeln!(f, "{}: {}", clean(&problem.reason), clean(&problem.message))?;
    if !problem.fix.is_empty() {
        writeln!(f, "      fix: {}", clean(&problem.fix))?;
    }
    Ok(())
}
