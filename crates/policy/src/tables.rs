//! Rules to bit vectors: bit i of a vector is rule i. Ports with equal vectors share a class, so the
//! number of classes follows from how rules overlap, not from how many ranges they list.

use std::collections::HashMap;

use sluice_ebpf_common::{
    FIELD_DESTINATION_PORT, FIELD_PROTOCOL, MAX_RULES, PORT_CLASSES, RULE_SLOTS, Tables,
};

use crate::{Action, Matcher, PlannedRule};

/// Fills the tables. The plan has been held to [`MAX_RULES`] and [`PORT_CLASSES`] before.
pub(crate) fn build(rules: &[PlannedRule], slots: &[u16]) -> Box<Tables> {
    let mut tables = Box::new(Tables::EMPTY);
    for (index, rule) in rules.iter().take(MAX_RULES).enumerate() {
        let bit = 1 << index;
        match rule.action {
            Action::Drop => tables.drop |= bit,
            Action::Pass => tables.pass |= bit,
            Action::Count => tables.count |= bit,
        }
        add_protocol(&mut tables, bit, rule.matcher.protocol);
        if rule.matcher.destination_ports.is_empty() {
            tables.destination_port_unknown |= bit;
        } else {
            tables.fields |= FIELD_DESTINATION_PORT;
        }
        let slot = slots.get(index).copied().unwrap_or_default();
        debug_assert!(usize::from(slot) < RULE_SLOTS, "slot {slot} has no counter");
        tables.rule_slot[index] = slot;
    }
    add_ports(&mut tables, rules);
    tables
}

fn add_protocol(tables: &mut Tables, bit: u64, protocol: Option<u8>) {
    if let Some(protocol) = protocol {
        tables.fields |= FIELD_PROTOCOL;
        tables.protocol[usize::from(protocol)] |= bit;
    } else {
        tables.protocol_unknown |= bit;
        tables.protocol.iter_mut().for_each(|vector| *vector |= bit);
    }
}

fn add_ports(tables: &mut Tables, rules: &[PlannedRule]) {
    let matchers: Vec<&Matcher> = rules.iter().map(|rule| &rule.matcher).collect();
    let classes = PortClasses::of(&matchers);
    debug_assert!(classes.vectors.len() <= PORT_CLASSES, "the compiler let too many port classes through");
    for (class, vector) in tables.destination_port.iter_mut().zip(&classes.vectors) {
        *class = *vector;
    }
    for (range, class) in classes.ranges {
        let class = u8::try_from(class).unwrap_or_default();
        tables.destination_port_class[usize::from(range.0)..=usize::from(range.1)].fill(class);
    }
}

/// Ports by which rules accept them.
pub(crate) struct PortClasses {
    /// By class: the rules that accept its ports, those that do not read the port included.
    pub vectors: Vec<u64>,
    /// Every port in order, as inclusive ranges of one class each.
    pub ranges: Vec<((u16, u16), usize)>,
}

impl PortClasses {
    pub fn of(rules: &[&Matcher]) -> Self {
        let mut firsts: Vec<u16> = rules
            .iter()
            .flat_map(|matcher| &matcher.destination_ports)
            .flat_map(|range| [Some(range.first), range.last.checked_add(1)])
            .flatten()
            .chain([0])
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        let mut classes = Self { vectors: Vec::new(), ranges: Vec::with_capacity(firsts.len()) };
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (index, &first) in firsts.iter().enumerate() {
            let last = firsts.get(index + 1).map_or(u16::MAX, |next| next - 1);
            let vector = accepting(rules, first);
            let class = *known.entry(vector).or_insert_with(|| {
                classes.vectors.push(vector);
                classes.vectors.len() - 1
            });
            classes.ranges.push(((first, last), class));
        }
        classes
    }
}

fn accepting(rules: &[&Matcher], port: u16) -> u64 {
    let accepts = |matcher: &Matcher| {
        matcher.destination_ports.is_empty()
            || matcher.destination_ports.iter().any(|range| range.contains(port))
    };
    rules
        .iter()
        .take(MAX_RULES)
        .enumerate()
        .filter(|(_, matcher)| accepts(matcher))
        .fold(0, |vector, (index, _)| vector | 1 << index)
}
