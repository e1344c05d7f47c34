//! From a parsed packet to its outcome: the first rule that matches mostly decides. Where it does not (it counts,
//! marks, limits, or its policy is in `DryRun`), a [`Walk`] goes on from rule to rule.

use sluice_ebpf_common::{
    Counter, CounterElement, ELEMENT_SLOTS, Event, MALFORMED_REASONS, Malformed, Metadata, Outcome,
    RULE_SLOTS, Tables,
    tables::{
        Action, GIVES_MARK, GIVES_PRIORITY, Limit, MAX_BITS, MAX_PARAMETERS, Marking, RULE_DRY_RUN, Rule,
        SIDES,
    },
};

use crate::{
    address::Pages,
    classify::{Accepted, Matched, Merged, NO_RULE, accept},
    flow::Flow,
};

/// Whether a packet is within a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// It is.
    Within,
    /// It is above.
    Exceeds,
    /// Nobody knows: the table of sources did not answer.
    Unknown,
}

/// What deciding needs of the kernel.
pub trait Environment {
    /// Address tables of this instance.
    type Fixed: Pages;
    /// Address tables that change.
    type Live: Pages;
    /// The prefixes that rules list.
    fn fixed(&self) -> &Self::Fixed;
    /// The address sets.
    fn live(&self) -> &Self::Live;
    /// Changes this CPU's counters. `false` if there is no such element, which cannot happen.
    fn count(&self, element: usize, change: impl FnOnce(&mut CounterElement)) -> bool;
    /// Takes a packet out of the bucket of the rule that counts in `slot`.
    fn rate(&self, limit: &Limit, slot: u16, walk: &Walk) -> Rate;
    /// What lists of address sets add: memory of this CPU.
    fn all_merged(&self) -> &[Merged; SIDES];
    /// One of them, to change.
    #[allow(clippy::mut_from_ref, reason = "memory of this CPU, which nobody else changes meanwhile")]
    fn merged(&self, side: usize) -> &mut Merged;
    /// Calls [`crate::classify::merge_one`] for each of `lists`.
    fn merge_each(&self, side: usize, lists: u64);
    /// The walk of this CPU.
    #[allow(clippy::mut_from_ref, reason = "memory of this CPU, which nobody else changes meanwhile")]
    fn walk(&self) -> &mut Walk;
}

/// A packet on its way through the rules that match it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    accepted: Accepted,
    /// The rules that match and have not been taken.
    pub matched: Matched,
    /// Rules before this number are passed over.
    from: u32,
    /// Bytes of the frame.
    pub bytes: u32,
    /// Source address as in the flow; without one, 0.
    pub source: [u32; 4],
    /// IP version, 0 if there is none.
    pub version: u32,
    malformed: u32,
    /// How it ends.
    pub end: End,
}

/// How a walk ends.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    outcome: u32,
    /// What Mark rules gave.
    marking: Marking,
    /// Slot of the last rule that marked.
    marked_by: u32,
}

impl End {
    /// Nothing has happened yet.
    pub const START: Self = Self {
        outcome: Outcome::PassNoMatch as u32,
        marking: Marking { given: 0, mark: 0, priority: 0 },
        marked_by: 0,
    };

    /// Whether a rule has marked the packet.
    #[inline(always)]
    #[must_use]
    pub fn marks(&self) -> bool {
        self.marking.given != 0
    }

    /// What travels with the packet.
    #[inline(always)]
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        let given = |flag: u32, value: u32| (self.marking.given & flag != 0).then_some(value);
        let mark = given(GIVES_MARK, self.marking.mark);
        let priority = given(GIVES_PRIORITY, self.marking.priority);
        Metadata::new(mark, priority, self.marked_by as u16)
    }
}

/// Decides on `flow`, a frame of `bytes` bytes, and counts it: the code of its [`Outcome`]. `None`: the first rule that
/// matches does not decide, and a walk has begun. Then call [`Walk::step`] until it is done, and [`Walk::finish`].
#[inline(always)]
pub fn decide<E: Environment>(tables: &Tables, flow: &Flow, bytes: usize, environment: &E) -> Option<u8> {
    let walk = environment.walk();
    accept(tables, flow, environment, &mut walk.accepted);
    let Walk { accepted, matched, .. } = walk;
    let number = accepted.scan(tables, environment.all_merged(), matched);
    let outcome = settle(tables, number, flow.malformed, bytes, environment);
    if outcome.is_none() {
        let version = flow.ip_version.unwrap_or(0);
        walk.begin(version, flow.source.unwrap_or([0; 4]), flow.malformed, bytes);
    }
    outcome
}

/// Counts a packet of which `number` is the first rule that matches, or [`NO_RULE`]: the code of its [`Outcome`].
/// `None`: the rule does not decide, and nothing is counted.
#[inline(always)]
pub(crate) fn settle<E: Environment>(
    tables: &Tables,
    number: u32,
    malformed: Option<Malformed>,
    bytes: usize,
    environment: &E,
) -> Option<u8> {
    if number >= NO_RULE {
        count_outcome(environment, malformed, bytes, Outcome::PassNoMatch as u8, None);
        return Some(Outcome::PassNoMatch as u8);
    }
    let rule = &tables.rules[number as usize & (MAX_BITS - 1)];
    if rule.action != Action::Decide as u8 || rule.flags & RULE_DRY_RUN != 0 {
        return None;
    }
    count_outcome(environment, malformed, bytes, rule.outcome, Some(rule.slot));
    Some(rule.outcome)
}

/// Whether packets with this outcome are dropped.
#[inline(always)]
#[must_use]
pub fn drops(outcome: u8) -> bool {
    const DROPS: u32 =
        1 << Outcome::DropRule as u32 | 1 << Outcome::DropDefault as u32 | 1 << Outcome::DropRateLimit as u32;
    DROPS >> (outcome & 31) & 1 != 0
}

impl Walk {
    /// No packet yet.
    pub const NOTHING: Self = Self {
        accepted: Accepted::NOTHING,
        matched: Matched::NOTHING,
        from: 0,
        bytes: 0,
        source: [0; 4],
        version: 0,
        malformed: 0,
        end: End::START,
    };

    /// Without an address `version` and `source` are 0.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        version: u8,
        source: [u32; 4],
        malformed: Option<Malformed>,
        bytes: usize,
    ) {
        self.from = 0;
        self.bytes = bytes as u32;
        self.source = source;
        self.version = u32::from(version);
        self.malformed = malformed.map_or(0, |reason| reason as u32);
        self.end = End::START;
    }

    /// Counts the packet under its outcome, of which this is the code.
    #[inline(always)]
    pub fn finish<E: Environment>(&self, environment: &E) -> u8 {
        let outcome = self.end.outcome as u8;
        let bytes = u64::from(self.bytes);
        environment.count(0, |counters| {
            if self.malformed != 0 {
                add(&mut counters.malformed[self.malformed as usize & (MALFORMED_REASONS - 1)], bytes);
            }
            add(&mut counters.outcomes[usize::from(outcome) & 15], bytes);
        });
        outcome
    }

    /// Takes the next rule that matches and acts on it. True: it is done.
    #[inline(always)]
    pub fn step<E: Environment>(&mut self, tables: &Tables, environment: &E) -> bool {
        let number = self.matched.take(tables);
        if number >= NO_RULE {
            return true;
        }
        if number < self.from {
            return false;
        }
        let rule = tables.rules[number as usize & (MAX_BITS - 1)];
        count_rule(environment, rule.slot, u64::from(self.bytes));
        let next = if rule.flags & RULE_DRY_RUN == 0 {
            self.act(tables, &rule, environment)
        } else {
            self.act_dry(tables, &rule, environment)
        };
        self.from = next.map_or(NO_RULE, u32::from);
        next.is_none()
    }

    /// The rule to go on with; `None` if the rule has decided.
    #[inline(always)]
    fn act<E: Environment>(&mut self, tables: &Tables, rule: &Rule, environment: &E) -> Option<u16> {
        if rule.action == Action::Decide as u8 {
            self.end.outcome = u32::from(rule.outcome);
            return None;
        }
        if rule.action == Action::RateLimit as u8 && self.exceeds(tables, rule, environment) {
            self.end.outcome = Outcome::DropRateLimit as u32;
            return None;
        }
        if rule.action == Action::Mark as u8 {
            self.mark(tables, rule);
        }
        Some(rule.next)
    }

    /// As [`Self::act`], but a decision only ends the policy, and nothing is marked.
    #[inline(always)]
    #[allow(clippy::unnecessary_wraps, reason = "the twin of `act`")]
    fn act_dry<E: Environment>(&mut self, tables: &Tables, rule: &Rule, environment: &E) -> Option<u16> {
        let decides = rule.action == Action::Decide as u8;
        let exceeds = rule.action == Action::RateLimit as u8 && self.exceeds(tables, rule, environment);
        let drops = exceeds || decides && drops(rule.outcome);
        if drops {
            count_event(environment, Event::DryRunDrop, u64::from(self.bytes));
        }
        Some(if decides || exceeds { rule.policy_end } else { rule.next })
    }

    #[inline(never)]
    fn exceeds<E: Environment>(&self, tables: &Tables, rule: &Rule, environment: &E) -> bool {
        let limit = &tables.limits[usize::from(rule.parameter) & (MAX_PARAMETERS - 1)];
        match environment.rate(limit, rule.slot, self) {
            Rate::Within => false,
            Rate::Exceeds => {
                count_rule(environment, limit.exceeded_slot, u64::from(self.bytes));
                true
            }
            Rate::Unknown => {
                count_event(environment, Event::SourceTableFailed, u64::from(self.bytes));
                false
            }
        }
    }

    /// What the rule gives overrides what rules before it gave.
    #[inline(always)]
    fn mark(&mut self, tables: &Tables, rule: &Rule) {
        let marking = &tables.markings[usize::from(rule.parameter) & (MAX_PARAMETERS - 1)];
        if marking.given & GIVES_MARK != 0 {
            self.end.marking.mark = marking.mark;
        }
        if marking.given & GIVES_PRIORITY != 0 {
            self.end.marking.priority = marking.priority;
        }
        self.end.marking.given |= marking.given;
        self.end.marked_by = u32::from(rule.slot);
    }
}

/// Counts the packet under its outcome and its damage, and, if `slot` is given, for the rule that decided.
#[inline(always)]
fn count_outcome<E: Environment>(
    environment: &E,
    malformed: Option<Malformed>,
    bytes: usize,
    outcome: u8,
    slot: Option<u16>,
) {
    let slot_number = usize::from(slot.unwrap_or(0)) & (RULE_SLOTS - 1);
    environment.count(slot_number / ELEMENT_SLOTS, |counters| {
        if let Some(reason) = malformed {
            // The compiler knows the bound of a reason; the verifier must see it.
            let reason = core::hint::black_box(reason as usize) & (MALFORMED_REASONS - 1);
            add(&mut counters.malformed[reason], bytes as u64);
        }
        if slot.is_some() {
            add(&mut counters.rules[slot_number % ELEMENT_SLOTS], bytes as u64);
        }
        add(&mut counters.outcomes[usize::from(outcome) & 15], bytes as u64);
    });
}

#[inline(always)]
fn count_rule<E: Environment>(environment: &E, slot: u16, bytes: u64) {
    let slot = core::hint::black_box(usize::from(slot)) & (RULE_SLOTS - 1);
    environment.count(slot / ELEMENT_SLOTS, |counters| add(&mut counters.rules[slot % ELEMENT_SLOTS], bytes));
}

/// Counts something that happened to the packet besides its outcome.
#[inline(always)]
pub fn count_event<E: Environment>(environment: &E, event: Event, bytes: u64) {
    environment.count(0, |counters| add(&mut counters.events[event as usize], bytes));
}

#[inline(always)]
fn add(counter: &mut Counter, bytes: u64) {
    counter.packets += 1;
    counter.bytes += bytes;
}
