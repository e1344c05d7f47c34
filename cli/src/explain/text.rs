//! What `explain` found, as people read it: what is wrong if anything is, else the plan.

use std::{
    collections::BTreeSet,
    fmt::{self, Display, Formatter},
};

use sluice_policy::{Action, DEFAULT_ACTION, DefaultAction, Enforcement, InterfacePlan, NodePlan};

use super::{
    report::{ExplainedPolicy, Finding, Report},
    words,
};
use crate::{output::clean, status::table};

/// A report, ready to be printed.
pub struct ReportText<'a> {
    pub report: &'a Report,
    /// Columns of the terminal, if it goes to one.
    pub width: Option<u16>,
}

impl Display for ReportText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.report;
        if !report.problems.is_empty() {
            return problems(f, report);
        }
        for (index, policy) in report.policies.iter().enumerate() {
            self.policy(f, index + 1, policy)?;
        }
        writeln!(f, "Before all rules the built-in failsafe passes: {}.", words::services())?;
        writeln!(f, "A packet about which nothing decides goes to the host.")?;
        writeln!(
            f,
            "Counted on each interface, in packets and bytes: each rule; each verdict; malformed packets by reason."
        )?;
        match &report.plan {
            Some(plan) => self.plan(f, plan),
            None => Ok(()),
        }
    }
}

impl ReportText<'_> {
    fn policy(&self, f: &mut Formatter<'_>, position: usize, policy: &ExplainedPolicy) -> fmt::Result {
        writeln!(f, "{position}. {} ({})", clean(&policy.name), clean(&policy.file))?;
        write!(f, "   priority {}, mode {}", policy.priority, policy.mode.as_str())?;
        let is_dry = policy.enforcement == Enforcement::DryRun;
        writeln!(
            f,
            "{}",
            if is_dry { ", dry run: counted as if it were enforced; changes no packet" } else { "" }
        )?;
        for (index, selector) in policy.interfaces.iter().enumerate() {
            let before = if index == 0 { "   on interfaces with" } else { "   and on those with" };
            writeln!(f, "{before} {}", clean(&words::selector(selector)))?;
        }
        for change in policy.failsafe.iter().flat_map(|failsafe| &failsafe.words) {
            writeln!(f, "   failsafe: {}", clean(change))?;
        }
        let width = self.width.map(|width| width.saturating_sub(3));
        indent(f, &table(&["RULE", "PACKETS", "ACTION"], rows(policy), width))?;
        for Finding { field, message, .. } in &policy.not_carried_out {
            writeln!(
                f,
                "   note: an agent of this release refuses this policy: {}: {}",
                clean(field),
                clean(message)
            )?;
        }
        for warning in &policy.warnings {
            writeln!(f, "   warning: {}: {}", warning.reason, clean(&warning.message))?;
        }
        writeln!(f)
    }

    fn plan(&self, f: &mut Formatter<'_>, plan: &NodePlan) -> fmt::Result {
        writeln!(f, "\nOn the node that --links describes:\n")?;
        if plan.interfaces.is_empty() {
            writeln!(f, "No interface is attached.")?;
        } else {
            let columns = ["INTERFACE", "MODE", "REVISION", ">RULES", "POLICIES", "SELECTED BY"];
            f.write_str(&table(&columns, plan.interfaces.iter().map(interface).collect(), self.width))?;
        }
        for report in &plan.policies {
            for conflict in &report.conflicts {
                let (policy, interface) = (clean(&report.name), clean(&conflict.interface));
                writeln!(
                    f,
                    "  {policy} not on {interface}: {}: {}",
                    conflict.reason,
                    clean(&conflict.message)
                )?;
            }
        }
        for skipped in &plan.skipped {
            let (interface, policy) = (clean(&skipped.interface), clean(&skipped.policy));
            writeln!(
                f,
                "  {interface} left alone by {policy}: {}: {}",
                skipped.reason,
                clean(&skipped.message)
            )?;
        }
        Ok(())
    }
}

fn rows(policy: &ExplainedPolicy) -> Vec<Vec<String>> {
    let rules = policy
        .rules
        .iter()
        .map(|rule| vec![rule.name.clone(), words::matcher(&rule.matcher), words::action(&rule.action)]);
    let default = policy.default_action.map(|action| {
        let action = match action {
            DefaultAction::Drop => Action::Drop,
            DefaultAction::Pass => Action::Pass,
        };
        vec![DEFAULT_ACTION.to_owned(), "every other packet".to_owned(), words::action(&action)]
    });
    rules.chain(default).collect()
}

fn interface(plan: &InterfacePlan) -> Vec<String> {
    let digest: String = plan.digest().chars().take(crate::status::REVISION_DIGITS).collect();
    vec![
        plan.name.clone(),
        plan.mode.as_str().to_owned(),
        digest,
        plan.user_rules().count().to_string(),
        plan.policies.join(", "),
        plan.matched_by.clone(),
    ]
}

/// File, field, reason and message on one line, so that a search finds them together.
fn problems(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    for Finding { file, policy, field, reason, message, fix } in &report.problems {
        write!(f, "{}: ", clean(file))?;
        if let Some(policy) = policy {
            write!(f, "policy {}: ", clean(policy))?;
        }
        if !field.is_empty() {
            write!(f, "{}: ", clean(field))?;
        }
        writeln!(f, "{reason}: {}\n  fix: {}", clean(message), clean(fix))?;
    }
    let files: BTreeSet<_> = report.problems.iter().map(|problem| &problem.file).collect();
    let good = report.policies.len();
    writeln!(
        f,
        "\n{} in {}; {} good",
        counted(report.problems.len(), "problem", "problems"),
        counted(files.len(), "file", "files"),
        counted(good, "policy is", "policies are"),
    )
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn indent(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(f, "   {line}"))
}
