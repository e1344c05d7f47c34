//! Policies as lists of rules: read one after the other, as a person would, and compiled to [`Tables`].

use std::collections::HashMap;

use proptest::{collection::vec, option, prelude::*, sample::select};
use sluice_ebpf::{flow::Flow, walk::Rate};
use sluice_ebpf_common::{
    Metadata, Outcome, Tables,
    tables::{self, GIVES_MARK, GIVES_PRIORITY, Limit, Marking, RULE_DRY_RUN},
};
use sluice_testkit::rules::{self, compile};

/// What a rule does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Decide(Outcome),
    Count,
    Mark(Marking),
    /// What the bucket says, and the slot that counts what exceeds.
    RateLimit(Rate, u16),
}

#[derive(Clone, Debug)]
pub struct Rule {
    /// It matches if one of these does.
    pub alternatives: Vec<rules::Rule>,
    pub act: Act,
    pub slot: u16,
}

#[derive(Clone, Debug)]
pub struct Policy {
    pub dry_run: bool,
    pub rules: Vec<Rule>,
}

/// What becomes of a packet.
#[derive(Debug, PartialEq)]
pub struct Reading {
    pub outcome: Outcome,
    /// Slots that count it, in order.
    pub counted: Vec<usize>,
    /// Slots of the rules that took it out of their bucket, in order.
    pub taken: Vec<u16>,
    pub dry_run_drops: u64,
    pub unknown_rates: u64,
    pub metadata: Option<Metadata>,
}

impl Reading {
    fn new() -> Self {
        Self {
            outcome: Outcome::PassNoMatch,
            counted: vec![],
            taken: vec![],
            dry_run_drops: 0,
            unknown_rates: 0,
            metadata: None,
        }
    }

    /// A later rule overrides what it gives.
    fn mark(&mut self, marking: Marking, slot: u16) {
        let before = self.metadata.take();
        let mark = (marking.given & GIVES_MARK != 0).then_some(marking.mark);
        let priority = (marking.given & GIVES_PRIORITY != 0).then_some(marking.priority);
        let mark = mark.or(before.and_then(|before| before.mark()));
        let priority = priority.or(before.and_then(|before| before.priority()));
        self.metadata = Some(Metadata::new(mark, priority, slot));
    }

    /// How the rule decides, if it does.
    fn follow(&mut self, rule: &Rule, dry_run: bool) -> Option<Outcome> {
        self.counted.push(usize::from(rule.slot));
        match rule.act {
            Act::Decide(outcome) => return Some(outcome),
            Act::Mark(marking) if !dry_run => self.mark(marking, rule.slot),
            Act::Count | Act::Mark(_) => {}
            Act::RateLimit(rate, exceeded) => {
                self.taken.push(rule.slot);
                self.unknown_rates += u64::from(rate == Rate::Unknown);
                if rate == Rate::Exceeds {
                    self.counted.push(usize::from(exceeded));
                    return Some(Outcome::DropRateLimit);
                }
            }
        }
        None
    }
}

/// Reads the policies in order.
pub fn read(policies: &[Policy], flow: &Flow) -> Reading {
    let mut reading = Reading::new();
    for policy in policies {
        let matching = policy.rules.iter().filter(|rule| rule.takes(flow));
        let decision =
            matching.map(|rule| reading.follow(rule, policy.dry_run)).find_map(|decision| decision);
        match decision {
            Some(outcome) if !policy.dry_run => {
                reading.outcome = outcome;
                break;
            }
            Some(outcome) => reading.dry_run_drops += u64::from(outcome.drops()),
            None => {}
        }
    }
    reading.counted.sort_unstable();
    reading
}

impl Rule {
    fn takes(&self, flow: &Flow) -> bool {
        let takes =
            |rule: &rules::Rule| rule.takes_protocol(flow.protocol) && rule.takes_port(flow.destination_port);
        self.alternatives.iter().any(takes)
    }

    /// The row of the table, but for where it goes on; what it needs besides goes into `tables`.
    fn row(&self, tables: &mut Tables, parameter: u16) -> tables::Rule {
        let place = usize::from(parameter);
        let (action, outcome) = match self.act {
            Act::Decide(outcome) => (tables::Action::Decide, outcome as u8),
            Act::Count => (tables::Action::Count, 0),
            Act::Mark(marking) => {
                tables.markings[place] = marking;
                (tables::Action::Mark, 0)
            }
            Act::RateLimit(_, exceeded_slot) => {
                tables.limits[place] = Limit { exceeded_slot, ..Limit::default() };
                (tables::Action::RateLimit, 0)
            }
        };
        tables::Rule { action: action as u8, outcome, slot: self.slot, parameter, ..tables::Rule::default() }
    }
}

/// The tables of these policies: each alternative has a bit. Which, `keys` say; only in a word they are in order.
pub fn tables(policies: &[Policy], keys: &[u16]) -> Box<Tables> {
    let rules = policies.iter().flat_map(|policy| &policy.rules);
    let alternatives: Vec<rules::Rule> = rules.flat_map(|rule| rule.alternatives.clone()).collect();
    let mut order: Vec<usize> = (0..alternatives.len()).collect();
    order.sort_by_key(|number| keys[number % keys.len()].wrapping_mul(u16::try_from(*number).unwrap() | 1));
    order.chunks_mut(64).for_each(<[usize]>::sort_unstable);
    let mut tables = compile(&order.iter().map(|number| alternatives[*number].clone()).collect::<Vec<_>>());
    for (bit, number) in order.into_iter().enumerate() {
        tables.order[bit] = u16::try_from(number).unwrap();
    }
    write_rules(policies, &mut tables);
    tables
}

fn write_rules(policies: &[Policy], tables: &mut Tables) {
    let bits = |rules: &[Rule]| rules.iter().map(|rule| rule.alternatives.len()).sum::<usize>();
    let (mut first, mut parameter) = (0, 0);
    for policy in policies {
        let policy_end = u16::try_from(first + bits(&policy.rules)).unwrap();
        for rule in &policy.rules {
            let behind = first + rule.alternatives.len();
            let flags = if policy.dry_run { RULE_DRY_RUN } else { 0 };
            let next = u16::try_from(behind).unwrap();
            let row = tables::Rule { flags, next, policy_end, ..rule.row(tables, parameter) };
            tables.rules[first..behind].fill(row);
            (first, parameter) = (behind, parameter + 1);
        }
    }
}

/// What each bucket says.
pub fn rates(policies: &[Policy]) -> HashMap<u16, Rate> {
    let rules = policies.iter().flat_map(|policy| &policy.rules);
    rules
        .filter_map(|rule| match rule.act {
            Act::RateLimit(rate, _) => Some((rule.slot, rate)),
            _ => None,
        })
        .collect()
}

/// Few policies with more rules than a word has bits.
pub fn policies() -> impl Strategy<Value = Vec<Policy>> {
    let policy = (any::<bool>(), vec((vec(alternative(), 1..4), act()), 0..50));
    // Slots as revisions leave them: in no order, but never one twice (the step is odd).
    let slots = (any::<u16>(), any::<u16>());
    (vec(policy, 0..5), slots).prop_map(|(policies, (start, step))| {
        let mut slots = (0..).map(|number: u16| start.wrapping_add((step | 1).wrapping_mul(number)) % 4096);
        let mut slot = || slots.next().unwrap_or_default();
        let mut rule = |(alternatives, act)| Rule {
            alternatives,
            slot: slot(),
            act: if let Act::RateLimit(rate, _) = act { Act::RateLimit(rate, slot()) } else { act },
        };
        let mut policy = |(dry_run, rules): (bool, Vec<_>)| Policy {
            dry_run,
            rules: rules.into_iter().map(&mut rule).collect(),
        };
        policies.into_iter().map(&mut policy).collect()
    })
}

fn alternative() -> impl Strategy<Value = rules::Rule> {
    let range = (ports(), ports()).prop_map(|(one, other)| (one.min(other), one.max(other)));
    // A rule that takes everything ends the reading too early to be the rule.
    let protocol = option::weighted(0.95, protocols());
    (protocol, vec(range, 0..3)).prop_map(|(protocol, ports)| rules::Rule {
        protocol,
        ports,
        ..rules::Rule::all(rules::Action::Count)
    })
}

fn act() -> impl Strategy<Value = Act> {
    let decisions = [Outcome::DropRule, Outcome::PassRule, Outcome::DropDefault, Outcome::PassFailsafe];
    let marking =
        (1..4_u32, 1..9_u32, 1..9_u32).prop_map(|(given, mark, priority)| Marking { given, mark, priority });
    let rate = select(vec![Rate::Within, Rate::Within, Rate::Exceeds, Rate::Unknown]);
    prop_oneof![
        1 => select(decisions.to_vec()).prop_map(Act::Decide),
        4 => Just(Act::Count),
        2 => marking.prop_map(Act::Mark),
        2 => rate.prop_map(|rate| Act::RateLimit(rate, 0)),
    ]
}

pub fn protocols() -> impl Strategy<Value = u8> {
    select(vec![0, 6, 17, 132, 255])
}

/// Few enough to meet each other.
pub fn ports() -> impl Strategy<Value = u16> {
    select(vec![0, 1, 9, 10, 79, 80, 81, 443, 8080, 32767, 65534, 65535])
}
