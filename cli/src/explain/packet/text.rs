//! What becomes of a packet, as people read it: the decision, then rule by rule why.

use std::fmt::{self, Display, Formatter};

use sluice_policy::failsafe;
use sluice_policy::reference::{RuleExplanation, Step};

use super::report::PacketReport;
use crate::{output::clean, status::table};

/// A report, ready to be printed.
pub struct PacketText<'a> {
    pub report: &'a PacketReport,
    /// Columns of the terminal, if it goes to one.
    pub width: Option<u16>,
}

impl Display for PacketText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.report;
        writeln!(f, "{}, on {}", clean(&report.summary), clean(&report.interface))?;
        writeln!(f, "{}\n", clean(&report.sentence))?;
        f.write_str(&table(&["RULE", "ACTION", "RESULT", "WHY"], self.rows(), self.width))?;
        writeln!(f)?;
        report.notes.iter().try_for_each(|note| writeln!(f, "note: {}", clean(note)))
    }
}

impl PacketText<'_> {
    /// The rules of the failsafe that do not match are one line: they are many, and the same everywhere.
    fn rows(&self) -> Vec<Vec<String>> {
        let is_quiet = |rule: &&RuleExplanation| {
            !self.report.all && rule.policy == failsafe::POLICY && rule.step == Step::NoMatch
        };
        let quiet = self.report.rules.iter().filter(is_quiet).count();
        let told = self.report.rules.iter().filter(|rule| !is_quiet(rule)).map(row);
        let why = format!("none of {quiet} rules matches (--all shows them)");
        let failsafe = (quiet > 0).then(|| {
            vec![failsafe::POLICY.to_owned(), "Pass".to_owned(), Step::NoMatch.as_str().to_owned(), why]
        });
        failsafe.into_iter().chain(told).collect()
    }
}

fn row(rule: &RuleExplanation) -> Vec<String> {
    let step = match (rule.step, rule.matches) {
        (Step::NotReached, true) => "not reached, would match",
        (step, _) => step.as_str(),
    };
    vec![format!("{}/{}", rule.policy, rule.rule), rule.action.to_owned(), step.to_owned(), rule.why.clone()]
}
