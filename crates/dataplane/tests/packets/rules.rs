//! Rules compiled to [`Tables`], and what a run of them counted.

use sluice_dataplane::instance::Instance;
use sluice_ebpf_common::{
    Counter, Counters, FIELD_DESTINATION_PORT, FIELD_PROTOCOL, Malformed, Outcome, Tables,
};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Action {
    Drop,
    Pass,
    Count,
}

/// A rule that reads nothing takes every frame. Its counter has the number of its place in the list.
#[derive(Clone, Debug)]
pub struct Rule {
    pub protocol: Option<u8>,
    /// First and last, both included.
    pub ports: Vec<(u16, u16)>,
    pub action: Action,
}

impl Rule {
    pub fn all(action: Action) -> Self {
        Self { protocol: None, ports: vec![], action }
    }

    pub fn protocol(protocol: u8, action: Action) -> Self {
        Self { protocol: Some(protocol), ..Self::all(action) }
    }

    pub fn port(protocol: u8, port: u16, action: Action) -> Self {
        Self { ports: vec![(port, port)], ..Self::protocol(protocol, action) }
    }

    fn takes_protocol(&self, protocol: u8) -> bool {
        self.protocol.is_none_or(|own| own == protocol)
    }

    fn takes_port(&self, port: u16) -> bool {
        self.ports.is_empty() || self.ports.iter().any(|(first, last)| (*first..=*last).contains(&port))
    }
}

pub fn tables(rules: &[Rule]) -> Box<Tables> {
    let bits = |accepts: &dyn Fn(&Rule) -> bool| -> u64 {
        rules.iter().enumerate().filter(|(_, rule)| accepts(rule)).map(|(place, _)| 1 << place).sum()
    };
    let mut tables = Box::new(Tables::EMPTY);
    tables.drop = bits(&|rule| rule.action == Action::Drop);
    tables.pass = bits(&|rule| rule.action == Action::Pass);
    tables.count = bits(&|rule| rule.action == Action::Count);
    tables.protocol_unknown = bits(&|rule| rule.protocol.is_none());
    tables.destination_port_unknown = bits(&|rule| rule.ports.is_empty());
    tables.fields |= if rules.iter().any(|rule| rule.protocol.is_some()) { FIELD_PROTOCOL } else { 0 };
    let reads_ports = rules.iter().any(|rule| !rule.ports.is_empty());
    tables.fields |= if reads_ports { FIELD_DESTINATION_PORT } else { 0 };
    for protocol in 0..=u8::MAX {
        tables.protocol[usize::from(protocol)] = bits(&|rule| rule.takes_protocol(protocol));
    }
    for (slot, place) in tables.rule_slot.iter_mut().zip(0..) {
        *slot = place;
    }
    let mut classes: Vec<u64> = vec![];
    for port in 0..=u16::MAX {
        let taken = bits(&|rule| rule.takes_port(port));
        let class = classes.iter().position(|known| *known == taken).unwrap_or_else(|| {
            classes.push(taken);
            classes.len() - 1
        });
        tables.destination_port_class[usize::from(port)] = u8::try_from(class).unwrap();
    }
    tables.destination_port[..classes.len()].copy_from_slice(&classes);
    tables
}

/// What one run counted, each as one frame of the length that was run.
#[derive(Debug, PartialEq)]
pub struct Counted {
    pub outcome: Outcome,
    /// Places of the rules that matched.
    pub rules: Vec<usize>,
    pub malformed: Option<Malformed>,
}

/// Runs the product's program with these rules once on `frame`.
pub fn run(rules: &[Rule], frame: &[u8]) -> Counted {
    run_on(&Instance::load_unpinned(&tables(rules)).unwrap(), frame)
}

/// Runs a loaded program once more; any counter that moves but by one frame fails the test.
pub fn run_on(instance: &Instance, frame: &[u8]) -> Counted {
    let before = instance.counters().unwrap();
    let action = instance.run(frame, 1).unwrap().action;
    let after = instance.counters().unwrap();
    let moved = |part: fn(&Counters) -> &[Counter]| moved(part(&before), part(&after), frame.len());
    let [outcome] = moved(|counters| &counters.outcomes)[..] else { panic!("not exactly one outcome") };
    let outcome = Outcome::ALL[outcome];
    assert_eq!(action, if outcome == Outcome::DropRule { XDP_DROP } else { XDP_PASS });
    let malformed = moved(|counters| &counters.malformed);
    assert!(malformed.len() <= 1, "{malformed:?}");
    Counted {
        outcome,
        rules: moved(|counters| &counters.rules),
        malformed: malformed.first().map(|code| {
            *Malformed::ALL.iter().find(|reason| **reason as usize == *code).expect("a known reason")
        }),
    }
}

fn moved(before: &[Counter], after: &[Counter], length: usize) -> Vec<usize> {
    let changed = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
    changed
        .map(|(slot, (before, after))| {
            assert_eq!(after.packets - before.packets, 1);
            assert_eq!(after.bytes - before.bytes, u64::try_from(length).unwrap());
            slot
        })
        .collect()
}
