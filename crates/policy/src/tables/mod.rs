//! A plan's rules to the tables of a program instance. What the tables mean is said in `sluice_ebpf_common::tables`; what
//! the rules mean, in `reference`, to which the tests hold this.

mod addresses;
mod bits;
mod fields;
mod heap;
mod numbers;
mod parameters;
mod vector;

use std::collections::BTreeMap;

use sluice_ebpf_common::{
    Outcome, RULE_SLOTS, Tables,
    tables::{self, Field, MAX_BITS, RULE_DRY_RUN, WORDS},
};

use self::{bits::Bit, heap::Heap, parameters::Parameters, vector::Vector};
use crate::{Action, Enforcement, Fields, PlannedRule};

/// What the tables refer to by number, and others keep.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Counter slot of each name of [`crate::InterfacePlan::counter_names`].
    pub slots: BTreeMap<String, u16>,
    /// Bit of each list of address sets, by the names of its sets.
    pub lists: BTreeMap<Vec<String>, u8>,
}

/// What a program instance is loaded with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledRules {
    /// The rules.
    pub tables: Box<Tables>,
    /// Pages of the table of the prefixes that rules list; empty if none does.
    pub prefixes: Vec<u8>,
}

/// The rules need more of something than a program instance has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoesNotFit {
    /// What, in the plural.
    pub what: &'static str,
    /// How many there may be.
    pub most: usize,
}

/// The name under which a rule counts.
pub(crate) fn counter_name(rule: &PlannedRule) -> String {
    format!("{}/{}", rule.policy, rule.rule)
}

/// The name under which a rate limit counts what exceeds it. No rule can have it.
pub(crate) fn exceeded_name(rule: &PlannedRule) -> String {
    format!("{}/{}#exceeded", rule.policy, rule.rule)
}

/// Whether the rules are so few that there is no need to try: no limit is near.
pub(crate) fn surely_fit(rules: &[PlannedRule]) -> bool {
    const FEW: usize = 256;
    let values = |fields: &Fields| {
        let ports = fields.source_ports.len() + fields.destination_ports.len();
        let prefixes = fields.sources.len() + fields.destinations.len();
        ports + prefixes + fields.icmp.len() + fields.vlan_ids.len() + 4
    };
    let of_rule = |rule: &PlannedRule| {
        values(&rule.matcher.fields) + rule.matcher.not.as_ref().map_or(0, |not| 8 * values(not))
    };
    rules.len() <= FEW && rules.iter().map(of_rule).sum::<usize>() <= 2 * FEW
}

/// Fills the tables. A name without a slot counts in slot 0, a list without a bit is empty.
pub(crate) fn build(rules: &[PlannedRule], bindings: &Bindings) -> Result<CompiledRules, DoesNotFit> {
    let bits = bits::of(rules);
    if bits.len() > MAX_BITS {
        return Err(DoesNotFit { what: "rules and alternatives of `not`", most: MAX_BITS });
    }
    let mut tables = Box::new(Tables::EMPTY);
    let mut heap = Heap::default();
    let last = bits.iter().map(|bit| bit.position).max().unwrap_or(0);
    tables.words = u32::try_from(last / 64 + 1).unwrap_or(0);
    add_rules(&mut tables, rules, &bits, bindings)?;
    for field in fields::ALL {
        let wild: Vector = bits.iter().filter(|bit| !bit.reads(field)).map(|bit| bit.position).collect();
        if bits.iter().any(|bit| bit.reads(field)) {
            tables.fields |= field.bit();
        }
        tables.wild[field as usize] = wild.words();
        tables.wild_summary[field as usize] = wild.summary();
    }
    if tables.fields == 0 {
        // Without a field that narrows them, bits that no rule has would match.
        tables.fields = Field::Frame.bit();
    }
    fields::fill(&mut tables, &bits, &mut heap)?;
    let prefixes = addresses::fill(&mut tables, &bits, &mut heap, bindings)?;
    heap.write(&mut tables);
    Ok(CompiledRules { tables, prefixes })
}

fn add_rules(
    tables: &mut Tables,
    rules: &[PlannedRule],
    bits: &[Bit<'_>],
    bindings: &Bindings,
) -> Result<(), DoesNotFit> {
    let slot = |name: &str| {
        let slot = bindings.slots.get(name).copied().unwrap_or(0);
        assert!(usize::from(slot) < RULE_SLOTS, "slot {slot} has no counter");
        slot
    };
    let mut parameters = Parameters::default();
    let first_bits = bits::first_of(rules.len(), bits);
    for (number, bit) in bits.iter().enumerate() {
        let rule = &rules[bit.rule];
        let name = counter_name(rule);
        let is_first = first_bits[bit.rule] == number;
        if is_first {
            parameters.add(tables, rule, slot(&exceeded_name(rule)))?;
        }
        tables.order[bit.position] = number_of(number);
        tables.rules[number] = tables::Rule {
            action: action(&rule.action) as u8,
            outcome: outcome(rule) as u8,
            flags: if rule.enforcement == Enforcement::DryRun { RULE_DRY_RUN } else { 0 },
            padding: 0,
            slot: slot(&name),
            next: number_of(first_bits[bit.rule + 1]),
            policy_end: number_of(first_bits[rule.policy_end.min(rules.len())]),
            parameter: parameters.last(&rule.action),
        };
    }
    tables.marks = u32::from(parameters.marks());
    Ok(())
}

/// At most [`MAX_BITS`], which has been checked.
fn number_of(bit: usize) -> u16 {
    u16::try_from(bit).unwrap_or(u16::MAX)
}

const fn action(action: &Action) -> tables::Action {
    match action {
        Action::Drop | Action::Pass | Action::Steer(_) | Action::Socket(_) => tables::Action::Decide,
        Action::Count => tables::Action::Count,
        Action::RateLimit(_) => tables::Action::RateLimit,
        Action::Mark(_) => tables::Action::Mark,
    }
}

fn outcome(rule: &PlannedRule) -> Outcome {
    match rule.action {
        Action::Drop if rule.is_default_action() => Outcome::DropDefault,
        Action::Drop => Outcome::DropRule,
        Action::Pass if rule.is_failsafe() => Outcome::PassFailsafe,
        Action::Pass if rule.is_default_action() => Outcome::PassDefault,
        Action::Steer(_) => Outcome::Steer,
        Action::Socket(_) => Outcome::Socket,
        _ => Outcome::PassRule,
    }
}

const _: () = assert!(WORDS * 64 == MAX_BITS);
