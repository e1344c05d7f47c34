//! A short list of rules to [`Tables`], by the plainest way: each value of a field is asked of each rule. It reads the
//! protocol and the destination port only, and is no model of the product's compiler.

use std::collections::{BTreeSet, HashMap};

use sluice_ebpf_common::{
    Outcome, Tables,
    tables::{self, Entry, FIELDS, Field, WORDS},
};

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Drop the packet.
    Drop,
    /// Pass it.
    Pass,
    /// Count it and go on.
    Count,
}

/// A rule that reads nothing takes every frame.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Upper protocol.
    pub protocol: Option<u8>,
    /// Destination ports, first and last, both included; empty: any, or none.
    pub ports: Vec<(u16, u16)>,
    /// What it does.
    pub action: Action,
    /// Its counter.
    pub slot: u16,
}

impl Rule {
    /// Takes every frame.
    #[must_use]
    pub fn all(action: Action) -> Self {
        Self { protocol: None, ports: vec![], action, slot: 0 }
    }

    /// Takes a protocol.
    #[must_use]
    pub fn protocol(protocol: u8, action: Action) -> Self {
        Self { protocol: Some(protocol), ..Self::all(action) }
    }

    /// Takes a protocol's packets to a port.
    #[must_use]
    pub fn port(protocol: u8, port: u16, action: Action) -> Self {
        Self { ports: vec![(port, port)], ..Self::protocol(protocol, action) }
    }

    /// Whether the rule takes the protocol; `None` is unknown.
    #[must_use]
    pub fn takes_protocol(&self, protocol: Option<u8>) -> bool {
        self.protocol.is_none() || self.protocol == protocol
    }

    /// Likewise the destination port.
    #[must_use]
    pub fn takes_port(&self, port: Option<u16>) -> bool {
        let within = |port: u16| self.ports.iter().any(|(first, last)| (*first..=*last).contains(&port));
        self.ports.is_empty() || port.is_some_and(within)
    }
}

/// The rules, each with its place in the list as its counter.
#[must_use]
pub fn numbered(rules: &[Rule]) -> Vec<Rule> {
    rules.iter().cloned().zip(0..).map(|(rule, slot)| Rule { slot, ..rule }).collect()
}

/// The tables of a list of rules of one policy.
#[must_use]
pub fn compile(rules: &[Rule]) -> Box<Tables> {
    let mut compiler = Compiler { tables: Box::new(Tables::EMPTY), entries: HashMap::new(), words: 1 };
    for (place, rule) in rules.iter().enumerate() {
        compiler.tables.rules[place] = row(rule, place, rules.len());
        compiler.tables.order[place] = number(place);
    }
    let reads_ports = rules.iter().any(|rule| !rule.ports.is_empty());
    let reads_protocol = rules.iter().any(|rule| rule.protocol.is_some());
    // Where there are rules some field is read, or nothing would say which rules there are.
    if reads_protocol || !reads_ports && !rules.is_empty() {
        compiler.read(Field::Protocol, &vector(rules, |rule| rule.protocol.is_none()));
    }
    if reads_ports {
        compiler.read(Field::DestinationPort, &vector(rules, |rule| rule.ports.is_empty()));
    }
    for protocol in 0..=u8::MAX {
        let asks = |rule: &Rule| rule.protocol == Some(protocol);
        compiler.tables.protocol[usize::from(protocol)] = compiler.entry(vector(rules, asks));
    }
    compiler.ports(rules);
    compiler.tables
}

/// Reads the fields that none of the first `rules` rules asks for as well, so that the program needs all of its code.
pub fn read_every_field(tables: &mut Tables, rules: usize) {
    let all: Vector =
        std::array::from_fn(|word| (0..64).filter(|bit| word * 64 + bit < rules).map(|bit| 1 << bit).sum());
    for field in 0..FIELDS {
        if tables.fields & 1 << field == 0 {
            tables.fields |= 1 << field;
            tables.wild[field] = all;
            tables.wild_summary[field] = summary(&all);
        }
    }
}

type Vector = [u64; WORDS];

/// The rules that `accept`, one bit each.
fn vector(rules: &[Rule], accept: impl Fn(&Rule) -> bool) -> Vector {
    let mut vector = [0; WORDS];
    for (place, _) in rules.iter().enumerate().filter(|(_, rule)| accept(rule)) {
        vector[place / 64] |= 1 << (place % 64);
    }
    vector
}

/// The words that are not 0, one bit each.
fn summary(vector: &Vector) -> u32 {
    vector.iter().zip(0..).filter(|(bits, _)| **bits != 0).map(|(_, word)| 1 << word).sum()
}

fn row(rule: &Rule, place: usize, count: usize) -> tables::Rule {
    let (action, outcome) = match rule.action {
        Action::Drop => (tables::Action::Decide, Outcome::DropRule),
        Action::Pass => (tables::Action::Decide, Outcome::PassRule),
        Action::Count => (tables::Action::Count, Outcome::PassNoMatch),
    };
    tables::Rule {
        action: action as u8,
        outcome: outcome as u8,
        slot: rule.slot,
        next: number(place + 1),
        policy_end: number(count),
        ..tables::Rule::default()
    }
}

struct Compiler {
    tables: Box<Tables>,
    /// Numbers of the entries that there are.
    entries: HashMap<Vector, u16>,
    /// Words that entries have taken.
    words: usize,
}

impl Compiler {
    fn read(&mut self, field: Field, wild: &Vector) {
        self.tables.fields |= field.bit();
        self.tables.wild[field as usize] = *wild;
        self.tables.wild_summary[field as usize] = summary(wild);
    }

    /// The entry that adds these rules: one for each distinct vector, from its first word with bits to its last.
    fn entry(&mut self, vector: Vector) -> u16 {
        let has_bits = |bits: &u64| *bits != 0;
        let Some(first) = vector.iter().position(has_bits) else { return 0 };
        let words = &vector[first..=vector.iter().rposition(has_bits).unwrap_or(first)];
        if let Some(known) = self.entries.get(&vector) {
            return *known;
        }
        let new = number(self.entries.len() + 1);
        let offset = u32::try_from(self.words).expect("few words").wrapping_sub(u32::from(number(first)));
        self.tables.entries[usize::from(new)] = Entry { summary: summary(&vector), offset };
        self.tables.extra[self.words..self.words + words.len()].copy_from_slice(words);
        self.words += words.len();
        self.entries.insert(vector, new);
        new
    }

    /// Between two bounds of ranges the rules do not change.
    fn ports(&mut self, rules: &[Rule]) {
        let ranges = rules.iter().flat_map(|rule| &rule.ports);
        let bounds: BTreeSet<u16> =
            ranges.flat_map(|(first, last)| [*first, last.saturating_add(1)]).chain([0]).collect();
        for (run, first) in bounds.iter().enumerate() {
            let asks = |rule: &Rule| !rule.ports.is_empty() && rule.takes_port(Some(*first));
            self.tables.destination_port.entry[run] = self.entry(vector(rules, asks));
        }
        let runs = &mut self.tables.destination_port;
        for start in bounds.iter().filter(|start| **start != 0) {
            runs.starts[usize::from(start / 64)] |= 1 << (start % 64);
        }
        for word in 1..runs.before.len() {
            runs.before[word] = runs.before[word - 1] + number(runs.starts[word - 1].count_ones() as usize);
        }
    }
}

fn number(value: usize) -> u16 {
    u16::try_from(value).expect("a list of at most 2048 rules")
}
