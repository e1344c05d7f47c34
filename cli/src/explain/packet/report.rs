//! What becomes of a packet, as a value. Its JSON is `explain --packet -o json`: camelCase, and stable.

use serde::Serialize;
use sluice_policy::InterfacePlan;
use sluice_policy::reference::{Decision, Explanation, Marks, Packet, RuleExplanation, Step};

/// Everything that `explain --packet` says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PacketReport {
    /// What was understood, in words.
    pub summary: String,
    /// What was understood, field by field.
    pub packet: Packet,
    /// The interface that it arrives on.
    pub interface: String,
    /// Pass, Drop, Steer or Socket.
    pub decision: String,
    /// policy/rule; absent: no rule decides.
    pub decided_by: Option<String>,
    /// The packet mark that it leaves with.
    pub mark: Option<u32>,
    /// The priority that it leaves with.
    pub priority: Option<u32>,
    /// The decision in a sentence.
    pub sentence: String,
    /// By rule, up to the one that decides; with `--all` every rule.
    pub rules: Vec<RuleExplanation>,
    /// What is not known here, and what an agent would not do.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub all: bool,
}

impl PacketReport {
    pub fn new(
        packet: &Packet,
        plan: &InterfacePlan,
        explanation: Explanation,
        notes: Vec<String>,
        all: bool,
    ) -> Self {
        let sentence = explanation.sentence();
        let Explanation { verdict, mut rules } = explanation;
        let decider = verdict.decided_by.and_then(|index| rules.get(index));
        let decided_by = decider.map(|rule| format!("{}/{}", rule.policy, rule.rule));
        if !all {
            rules.truncate(verdict.decided_by.map_or(rules.len(), |index| index + 1));
            rules.retain(|rule| rule.step != Step::NotReached);
        }
        let Marks { mark, priority } = verdict.mark.unwrap_or_default();
        let decision = match verdict.decision {
            Decision::Pass => "Pass",
            Decision::Drop => "Drop",
            Decision::Steer => "Steer",
            Decision::Socket => "Socket",
        };
        Self {
            summary: packet.to_string(),
            packet: packet.clone(),
            interface: plan.name.clone(),
            decision: decision.to_owned(),
            decided_by,
            mark,
            priority,
            sentence,
            rules,
            notes,
            all,
        }
    }
}
