//! Goes through the rules of an interface one by one.

use sluice_ebpf_common::Malformed;

use super::{Limits, Packet, Sets, matches};
use crate::{Action, Enforcement, Mark, PlannedRule};

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// It goes to the network stack.
    #[default]
    Pass,
    /// It is dropped.
    Drop,
    /// It goes to the network stack on another CPU.
    Steer,
    /// It goes to a socket.
    Socket,
}

/// What travels with a packet. A class is a priority (`skb->priority`), so both are one field here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The packet mark (`skb->mark`).
    pub mark: Option<u32>,
    /// Priority or class handle (`skb->priority`).
    pub priority: Option<u32>,
}

/// What the rules make of a packet. Rules are named by their index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What becomes of it.
    pub decision: Decision,
    /// The rule that decided; none did: the packet passes.
    pub decided_by: Option<usize>,
    /// Every rule that counts the packet, in order: those that go on, those of dry-run policies, and the one that decided.
    pub counted: Vec<usize>,
    /// Rate limits that the packet exceeded, in order, dry-run policies included.
    pub exceeded: Vec<usize>,
    /// What travels with it; nothing if it is dropped.
    pub mark: Option<Marks>,
    /// Why the packet could not be read to its end.
    pub malformed: Option<Malformed>,
}

/// How far the rules were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Something before it ended the search.
    No,
    /// It was asked: it counts the packet if it matched.
    Yes,
}

/// Judges a packet by rules in the order of evaluation.
pub fn evaluate(rules: &[PlannedRule], sets: &dyn Sets, limits: &mut dyn Limits, packet: &Packet) -> Verdict {
    judge(rules, sets, limits, packet).0
}

/// The verdict, and by rule whether it was asked.
pub(super) fn judge(
    rules: &[PlannedRule],
    sets: &dyn Sets,
    limits: &mut dyn Limits,
    packet: &Packet,
) -> (Verdict, Vec<Asked>) {
    let mut verdict = Verdict { malformed: packet.malformed, ..Verdict::default() };
    let mut asked = vec![Asked::No; rules.len()];
    let mut marks = Marks::default();
    // A dry-run policy that has decided: its other rules are no longer asked.
    let mut ended_policy = None;
    for (index, rule) in rules.iter().enumerate() {
        if ended_policy == Some(&rule.policy) {
            continue;
        }
        asked[index] = Asked::Yes;
        if !matches(&rule.matcher, packet, sets) {
            continue;
        }
        verdict.counted.push(index);
        let decision = act(index, rule, limits, packet, &mut verdict.exceeded);
        if rule.enforcement == Enforcement::DryRun {
            if decision.is_some() {
                ended_policy = Some(&rule.policy);
            }
            continue;
        }
        if let Action::Mark(mark) = &rule.action {
            marks.take_over(mark);
        }
        if let Some(decision) = decision {
            verdict.decision = decision;
            verdict.decided_by = Some(index);
            break;
        }
    }
    let travels = verdict.decision != Decision::Drop && marks != Marks::default();
    verdict.mark = travels.then_some(marks);
    (verdict, asked)
}

/// What a rule that matches decides, if anything.
fn act(
    index: usize,
    rule: &PlannedRule,
    limits: &mut dyn Limits,
    packet: &Packet,
    exceeded: &mut Vec<usize>,
) -> Option<Decision> {
    match &rule.action {
        Action::Drop => Some(Decision::Drop),
        Action::Pass => Some(Decision::Pass),
        Action::Steer(_) => Some(Decision::Steer),
        Action::Socket(_) => Some(Decision::Socket),
        Action::Count | Action::Mark(_) => None,
        Action::RateLimit(limit) if limits.within(index, limit, packet) => None,
        Action::RateLimit(_) => {
            exceeded.push(index);
            Some(Decision::Drop)
        }
    }
}

impl Marks {
    /// A later rule wins, field by field.
    fn take_over(&mut self, later: &Mark) {
        self.mark = later.mark.or(self.mark);
        self.priority = later.priority.or(later.class).or(self.priority);
    }
}
