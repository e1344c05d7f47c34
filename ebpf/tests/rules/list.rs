//! Rules as a list: read one after the other, as a person would, and compiled to [`Tables`].

use std::collections::BTreeSet;

use proptest::{collection::vec, option, prelude::*, sample::select};
use sluice_ebpf::flow::Flow;
use sluice_ebpf_common::{FIELD_DESTINATION_PORT, FIELD_PROTOCOL, Tables};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Drop,
    Pass,
    Count,
}

#[derive(Clone, Debug)]
pub struct Rule {
    pub protocol: Option<u8>,
    /// Both ends included; empty: any port, or none.
    pub ports: Vec<(u16, u16)>,
    pub action: Action,
    pub slot: u16,
}

#[derive(Clone, Debug)]
pub struct List {
    pub rules: Vec<Rule>,
}

/// Rules by their place in the list.
pub struct Decision {
    pub terminal: Option<usize>,
    pub counting: Vec<usize>,
}

impl Rule {
    fn takes_protocol(&self, protocol: Option<u8>) -> bool {
        self.protocol.is_none() || self.protocol == protocol
    }

    fn takes_port(&self, port: Option<u16>) -> bool {
        self.ports.is_empty()
            || port
                .is_some_and(|port| self.ports.iter().any(|(first, last)| (*first..=*last).contains(&port)))
    }
}

impl List {
    /// Reads the rules in order.
    pub fn decide(&self, flow: &Flow) -> Decision {
        let mut counting = vec![];
        for (number, rule) in self.rules.iter().enumerate() {
            if rule.takes_protocol(flow.protocol) && rule.takes_port(flow.destination_port) {
                if rule.action != Action::Count {
                    return Decision { terminal: Some(number), counting };
                }
                counting.push(number);
            }
        }
        Decision { terminal: None, counting }
    }

    pub fn tables(&self) -> Box<Tables> {
        let mut tables = Box::new(Tables::EMPTY);
        tables.drop = self.bits(|rule| rule.action == Action::Drop);
        tables.pass = self.bits(|rule| rule.action == Action::Pass);
        tables.count = self.bits(|rule| rule.action == Action::Count);
        for (slot, rule) in tables.rule_slot.iter_mut().zip(&self.rules) {
            *slot = rule.slot;
        }
        if self.rules.iter().any(|rule| rule.protocol.is_some()) {
            tables.fields |= FIELD_PROTOCOL;
        }
        if self.rules.iter().any(|rule| !rule.ports.is_empty()) {
            tables.fields |= FIELD_DESTINATION_PORT;
        }
        tables.protocol_unknown = self.bits(|rule| rule.takes_protocol(None));
        tables.destination_port_unknown = self.bits(|rule| rule.takes_port(None));
        for (protocol, bits) in (0..=u8::MAX).zip(&mut tables.protocol) {
            *bits = self.bits(|rule| rule.takes_protocol(Some(protocol)));
        }
        self.classes(&mut tables);
        tables
    }

    /// Gives ports that the same rules take the same class. Between two bounds the rules do not change.
    fn classes(&self, tables: &mut Tables) {
        let ranges = self.rules.iter().flat_map(|rule| &rule.ports);
        let bounds: BTreeSet<u16> =
            ranges.flat_map(|(first, last)| [*first, last.saturating_add(1)]).chain([0]).collect();
        let mut classes: Vec<u64> = vec![];
        for bound in bounds {
            let bits = self.bits(|rule| rule.takes_port(Some(bound)));
            let class = classes.iter().position(|known| *known == bits).unwrap_or(classes.len());
            if class == classes.len() {
                classes.push(bits);
            }
            tables.destination_port_class[usize::from(bound)..].fill(u8::try_from(class).unwrap());
        }
        tables.destination_port[..classes.len()].copy_from_slice(&classes);
    }

    fn bits(&self, accepts: impl Fn(&Rule) -> bool) -> u64 {
        self.rules.iter().enumerate().filter(|(_, rule)| accepts(rule)).map(|(number, _)| 1 << number).sum()
    }
}

pub fn lists() -> impl Strategy<Value = List> {
    let range = (ports(), ports()).prop_map(|(one, other)| (one.min(other), one.max(other)));
    let action = select(vec![Action::Drop, Action::Pass, Action::Count, Action::Count]);
    let rule = (option::of(protocols()), vec(range, 0..3), action);
    // Slots as revisions leave them: in no order, but never one twice (the step is odd).
    let slots = (any::<u16>(), any::<u16>());
    (vec(rule, 0..30), slots).prop_map(|(rules, (start, step))| {
        let slots = (0..).map(|number: u16| start.wrapping_add((step | 1).wrapping_mul(number)) % 1024);
        let rules = rules.into_iter().zip(slots);
        List {
            rules: rules
                .map(|((protocol, ports, action), slot)| Rule { protocol, ports, action, slot })
                .collect(),
        }
    })
}

pub fn protocols() -> impl Strategy<Value = u8> {
    select(vec![0, 6, 17, 132, 255])
}

/// Few enough to meet each other.
pub fn ports() -> impl Strategy<Value = u16> {
    select(vec![0, 1, 9, 10, 79, 80, 81, 443, 8080, 32767, 65534, 65535])
}
