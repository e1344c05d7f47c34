//! Why each rule matched a packet or did not. It judges nothing itself: verdict and reach come from the
//! evaluator.

use serde::{Serialize, Serializer};

use super::evaluate::{Asked, judge};
use super::{Decision, Limits, Marks, Packet, Sets, Verdict, matches, words};
use crate::{Enforcement, PlannedRule};

/// A verdict with reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What becomes of the packet.
    pub verdict: Verdict,
    /// By rule, in the order of evaluation.
    pub rules: Vec<RuleExplanation>,
}

/// What one rule makes of a packet, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleExplanation {
    /// Name of the policy.
    pub policy: String,
    /// Name of the rule.
    pub rule: String,
    /// Its action.
    pub action: &'static str,
    /// What it makes of the packet.
    pub step: Step,
    /// Whether it matches; also of a rule that is not reached.
    pub matches: bool,
    /// Why it matches, or the first field that does not.
    pub why: String,
}

/// What a rule makes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It does not match.
    NoMatch,
    /// It counts the packet, and the next rule is asked.
    GoesOn,
    /// It decides about the packet.
    Decides,
    /// It would decide if its policy were enforced; the next policy is asked.
    WouldDecide,
    /// It is not asked, since a rule before it decided.
    NotReached,
}

impl Step {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoMatch => "no match",
            Self::GoesOn => "matches, goes on",
            Self::Decides => "decides",
            Self::WouldDecide => "would decide (dry run)",
            Self::NotReached => "not reached",
        }
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{self:?}"))
    }
}

/// Judges a packet, and says of each rule why.
pub fn explain(
    rules: &[PlannedRule],
    sets: &dyn Sets,
    limits: &mut dyn Limits,
    packet: &Packet,
) -> Explanation {
    let (verdict, asked) = judge(rules, sets, limits, packet);
    let explained = rules.iter().zip(asked).enumerate().map(|(index, (rule, asked))| {
        let matches = matches(&rule.matcher, packet, sets);
        let decides = rule.action.is_terminal() || verdict.exceeded.contains(&index);
        let step = match (asked, matches, decides) {
            (Asked::No, ..) => Step::NotReached,
            (_, false, _) => Step::NoMatch,
            (_, true, false) => Step::GoesOn,
            (_, true, true) if rule.enforcement == Enforcement::DryRun => Step::WouldDecide,
            (_, true, true) => Step::Decides,
        };
        RuleExplanation {
            policy: rule.policy.clone(),
            rule: rule.rule.clone(),
            action: rule.action.as_str(),
            step,
            matches,
            why: words::why(&rule.matcher, packet, sets),
        }
    });
    Explanation { rules: explained.collect(), verdict }
}

impl Explanation {
    /// What becomes of the packet, and by which rule.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Some(rule) = self.verdict.decided_by.and_then(|index| self.rules.get(index)) else {
            return format!("It passes to the host{}: no rule decides about it.", self.marks());
        };
        let by = format!("{}/{}", rule.policy, rule.rule);
        match self.verdict.decision {
            Decision::Drop => format!("It is dropped by {by}."),
            Decision::Pass => format!("It passes to the host{}: {by} decides so.", self.marks()),
            Decision::Steer => {
                format!("It passes to the host on another CPU{}: {by} decides so.", self.marks())
            }
            Decision::Socket => format!("It goes to a socket: {by} decides so."),
        }
    }

    fn marks(&self) -> String {
        let Marks { mark, priority } = self.verdict.mark.unwrap_or_default();
        let mark = mark.map(|mark| format!("mark {mark:#x}"));
        let parts: Vec<String> =
            mark.into_iter().chain(priority.map(|priority| format!("priority {priority:#x}"))).collect();
        if parts.is_empty() { String::new() } else { format!(" with {}", parts.join(" and ")) }
    }
}
