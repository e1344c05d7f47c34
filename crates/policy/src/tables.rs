//! Rules to bit vectors: bit i of a vector is rule i. Ports with equal vectors share a class, so the
//! number of classes follows from how rules overlap, not from how many ranges they list.

use std::collections::{BTreeMap, HashMap};

use sluice_ebpf_common::{
    FIELD_DESTINATION_PORT, FIELD_PROTOCOL, MAX_RULES, PORT_CLASSES, RULE_SLOTS, Tables,
};

use crate::{Action, Matcher, PlannedRule};

/// Fills the tables. The plan has been held to [`MAX_RULES`] and [`PORT_CLASSES`] before, and the slots are
/// those of its rules: anything else is a mistake of this program, and tables that judge some packets
/// wrongly would be worse than to stop.
pub(crate) fn build(rules: &[PlannedRule], slots: &[u16]) -> Box<Tables> {
    assert!(rules.len() <= MAX_RULES, "the compiler let {} rules through", rules.len());
    assert_eq!(rules.len(), slots.len(), "every rule has its own counter slot");
    let mut tables = Box::new(Tables::EMPTY);
    for (index, (rule, slot)) in rules.iter().zip(slots).enumerate() {
        let bit = 1 << index;
        match rule.action {
            Action::Drop => tables.drop |= bit,
            Action::Pass => tables.pass |= bit,
            Action::Count => tables.count |= bit,
            _ => {}
        }
        add_protocol(&mut tables, bit, rule.matcher.fields.protocol);
        if rule.matcher.fields.destination_ports.is_empty() {
            tables.destination_port_unknown |= bit;
        } else {
            tables.fields |= FIELD_DESTINATION_PORT;
        }
        assert!(usize::from(*slot) < RULE_SLOTS, "slot {slot} has no counter");
        tables.rule_slot[index] = *slot;
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
    let count = classes.vectors.len();
    assert!(count <= PORT_CLASSES, "the compiler let {count} port classes through");
    tables.destination_port[..count].copy_from_slice(&classes.vectors);
    let class_numbers: Vec<u8> = (0..=u8::MAX).take(count).collect();
    for (range, class) in classes.ranges {
        let ports = usize::from(range.0)..=usize::from(range.1);
        tables.destination_port_class[ports].fill(class_numbers[class]);
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
    /// Goes through the ports once, from each bound of a range to the next.
    pub fn of(rules: &[&Matcher]) -> Self {
        let (mut vector, bounds) = bounds(rules);
        let mut open = [0_i32; MAX_RULES];
        let mut classes = Self { vectors: Vec::new(), ranges: Vec::with_capacity(bounds.len()) };
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut bounds = bounds.into_iter().peekable();
        while let Some((first, changes)) = bounds.next() {
            for (rule, change) in changes {
                open[rule] += change;
                let bit = 1 << rule;
                vector = if open[rule] > 0 { vector | bit } else { vector & !bit };
            }
            let last = bounds.peek().map_or(u16::MAX, |(next, _)| next - 1);
            let class = *known.entry(vector).or_insert_with(|| {
                classes.vectors.push(vector);
                classes.vectors.len() - 1
            });
            classes.ranges.push(((first, last), class));
        }
        classes
    }
}

/// The rules that take every port, and by port the rules of which a range begins (+1) there or has
/// ended (-1) before. Ranges of one rule may overlap, so they are counted.
fn bounds(rules: &[&Matcher]) -> (u64, BTreeMap<u16, Vec<(usize, i32)>>) {
    let mut vector = 0;
    let mut bounds: BTreeMap<u16, Vec<(usize, i32)>> = BTreeMap::from([(0, Vec::new())]);
    for (rule, matcher) in rules.iter().take(MAX_RULES).enumerate() {
        if matcher.fields.destination_ports.is_empty() {
            vector |= 1 << rule;
        }
        for range in &matcher.fields.destination_ports {
            bounds.entry(range.first).or_default().push((rule, 1));
            if let Some(behind) = range.last.checked_add(1) {
                bounds.entry(behind).or_default().push((rule, -1));
            }
        }
    }
    (vector, bounds)
}
