//! Random vectors in [`Tables`], and which of them a packet's values stand for.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::IpAddr,
};

use ipnet::IpNet;
use proptest::{collection::vec, prelude::*, sample::select};
use sluice_ebpf::flow::{Flow, Fragment};
use sluice_ebpf_common::{
    Tables,
    prefixes::{MAX_LISTS, live},
    tables::{Entry, FIELDS, Field, Runs, SIDES, Side, WORDS, frame},
};
use sluice_prefix_table::{Layout, fixed, live::Table, lookup};

use crate::common::{
    addresses::{address, prefix},
    memory::Bytes,
};

pub type Vector = [u64; WORDS];

#[derive(Debug)]
pub struct Content {
    pub fields: u32,
    /// By field.
    pub wild: Vec<Vector>,
    /// What values may add.
    pub entries: Vec<Vector>,
    /// Where runs of 16-bit values end.
    pub bounds: Vec<u16>,
    pub listed: Vec<IpNet>,
    pub sets: Vec<(IpNet, u64)>,
    pub seed: u64,
}

/// What the program is given.
pub struct Built {
    pub tables: Box<Tables>,
    pub fixed: Vec<u8>,
    pub live: Vec<u8>,
    version: u64,
}

impl Content {
    /// The entry of a value, 0 for none: any will do that is always the same.
    fn entry(&self, field: Field, value: usize) -> usize {
        let mut hasher = DefaultHasher::new();
        (self.seed, field as usize, value).hash(&mut hasher);
        usize::try_from(hasher.finish() >> 8).unwrap() % (self.entries.len() + 1)
    }

    fn number(&self, field: Field, value: usize) -> u16 {
        u16::try_from(self.entry(field, value)).unwrap()
    }

    fn run(&self, value: u16) -> usize {
        let mut bounds = self.bounds.clone();
        bounds.sort_unstable();
        bounds.dedup();
        bounds.iter().filter(|bound| **bound != 0 && **bound <= value).count()
    }

    fn runs(&self, field: Field) -> Runs {
        let mut runs = Runs::EMPTY;
        for bound in self.bounds.iter().filter(|bound| **bound != 0) {
            runs.starts[usize::from(bound / 64)] |= 1 << (bound % 64);
        }
        for word in 1..runs.before.len() {
            runs.before[word] =
                runs.before[word - 1] + u16::try_from(runs.starts[word - 1].count_ones()).unwrap();
        }
        for run in 0..=self.bounds.len() {
            runs.entry[run] = self.number(field, run);
        }
        runs
    }

    pub fn build(&self) -> Built {
        let table = fixed::build(self.listed.iter().copied().zip(0..)).unwrap();
        let pages = live::LEAST_PAGES + 20;
        let (mut memory, mut sets) = (Bytes::new(pages), Table::new(pages));
        sets.change(&mut memory, self.sets.iter().copied()).unwrap();
        let mut tables = Box::new(Tables::EMPTY);
        tables.fields = self.fields;
        self.write_vectors(&mut tables);
        self.write_values(&mut tables);
        self.write_classes(&mut tables, table.classes.len());
        Built { tables, fixed: table.memory, live: memory.0, version: sets.version() }
    }

    fn write_vectors(&self, tables: &mut Tables) {
        for (field, wild) in self.wild.iter().enumerate() {
            tables.wild[field] = *wild;
            tables.wild_summary[field] = summary(wild);
        }
        for (bit, number) in tables.order.iter_mut().enumerate() {
            *number = u16::try_from(number_of(bit)).unwrap();
        }
        let mut used: usize = 1;
        for (number, vector) in (1..).zip(&self.entries) {
            let Some(first) = vector.iter().position(|bits| *bits != 0) else { continue };
            let words = &vector[first..];
            tables.extra[used..used + words.len()].copy_from_slice(words);
            let offset = u32::try_from(used).unwrap().wrapping_sub(u32::try_from(first).unwrap());
            tables.entries[number] = Entry { summary: summary(vector), offset };
            used += words.len();
        }
    }

    fn write_values(&self, tables: &mut Tables) {
        let fill = |numbers: &mut [u16], field| {
            for (value, number) in numbers.iter_mut().enumerate() {
                *number = self.number(field, value);
            }
        };
        fill(&mut tables.frame, Field::Frame);
        fill(&mut tables.protocol, Field::Protocol);
        fill(&mut tables.tcp_flags, Field::TcpFlags);
        fill(&mut tables.vlan, Field::Vlan);
        tables.source_port = self.runs(Field::SourcePort);
        tables.destination_port = self.runs(Field::DestinationPort);
        tables.icmp = self.runs(Field::Icmp);
        tables.length = self.runs(Field::Length);
        tables.length_beyond = u32::from(self.number(Field::Length, BEYOND));
    }

    /// Classes have entries of their own, one after the other.
    fn write_classes(&self, tables: &mut Tables, classes: usize) {
        let mut next = self.entries.len() + 1;
        for field in [Field::Source, Field::Destination] {
            let base = u32::try_from(next).unwrap();
            if field == Field::Source {
                tables.source_classes = base;
            } else {
                tables.destination_classes = base;
            }
            for class in 0..classes {
                tables.entries[next] = tables.entries[self.entry(field, class)];
                next += 1;
            }
        }
        for (field, side) in SETS {
            for list in 0..MAX_LISTS {
                tables.lists[side as usize][list] = tables.entries[self.entry(field, list)];
            }
        }
    }

    /// The bits that every field accepts.
    pub fn expected(&self, built: &Built, flow: &Flow) -> Vector {
        let used = (0..self.wild.len()).filter(|field| self.fields & 1 << field != 0);
        used.fold([u64::MAX; WORDS], |left, field| {
            let added = self.added(built, flow, field);
            std::array::from_fn(|word| left[word] & (self.wild[field][word] | added[word]))
        })
    }

    fn added(&self, built: &Built, flow: &Flow, field: usize) -> Vector {
        let wide = |value: Option<u16>| value.map(|value| self.run(value));
        let value = match field {
            0 => (Field::Frame, Some(frame_index(flow))),
            1 => (Field::Protocol, flow.protocol.map(usize::from)),
            2 => (Field::SourcePort, wide(flow.source_port)),
            3 => (Field::DestinationPort, wide(flow.destination_port)),
            4 => (Field::Source, class(built, flow, flow.source)),
            5 => (Field::Destination, class(built, flow, flow.destination)),
            8 => (Field::TcpFlags, flow.tcp_flags.map(usize::from)),
            9 => (Field::Icmp, wide(flow.icmp.map(u16::from_be_bytes))),
            10 => (Field::Vlan, flow.vlans[0].map(usize::from)),
            11 => {
                let run = |length| u16::try_from(length).map_or(BEYOND, |length| self.run(length));
                (Field::Length, flow.l3_length.map(run))
            }
            _ => return self.added_by_sets(built, flow, field),
        };
        value.1.map_or([0; WORDS], |of| self.vector(self.entry(value.0, of)))
    }

    fn added_by_sets(&self, built: &Built, flow: &Flow, field: usize) -> Vector {
        let (field, side) = SETS.into_iter().find(|(known, _)| *known as usize == field).unwrap();
        let is_source = matches!(side, Side::Source | Side::NotSource);
        let words = if is_source { flow.source } else { flow.destination };
        let Some(address) = address(flow.ip_version, words) else { return [0; WORDS] };
        let class = lookup(&built.live, Layout::Live { version: built.version }, address);
        let at = live::CLASSES + usize::from(class) * 8;
        let mask = if class == 0 { 0 } else { u64::from_ne_bytes(*built.live[at..].first_chunk().unwrap()) };
        let lists = (0..MAX_LISTS).filter(|list| mask & 1 << list != 0);
        let holding = lists.fold([0; WORDS], |all: Vector, list| {
            let vector = self.vector(self.entry(field, list));
            std::array::from_fn(|word| all[word] | vector[word])
        });
        if matches!(side, Side::NotSource | Side::NotDestination) {
            holding.map(|bits| !bits)
        } else {
            holding
        }
    }

    fn vector(&self, number: usize) -> Vector {
        number.checked_sub(1).map_or([0; WORDS], |place| self.entries[place])
    }
}

/// The number of a bit's rule: in each word in order, and the words in another one.
pub fn number_of(bit: usize) -> usize {
    (bit / 64 * 13 + 5) % WORDS * 64 + bit % 64
}

/// No run has so great a number.
const BEYOND: usize = usize::MAX;

/// By side.
const SETS: [(Field, Side); SIDES] = [
    (Field::SourceSet, Side::Source),
    (Field::DestinationSet, Side::Destination),
    (Field::SourceNotSet, Side::NotSource),
    (Field::DestinationNotSet, Side::NotDestination),
];

fn class(built: &Built, flow: &Flow, words: Option<[u32; 4]>) -> Option<usize> {
    let address: IpAddr = address(flow.ip_version, words)?;
    Some(usize::from(lookup(&built.fixed, Layout::Fixed, address)))
}

fn frame_index(flow: &Flow) -> usize {
    let index = match (flow.ip_version, flow.fragment) {
        (Some(4), Some(Fragment::None)) => frame::IPV4,
        (Some(4), Some(Fragment::First)) => frame::IPV4 + 1,
        (Some(4), Some(Fragment::Later)) => frame::IPV4 + 2,
        (Some(6), Some(Fragment::None)) => frame::IPV6,
        (Some(6), Some(Fragment::First)) => frame::IPV6 + 1,
        (Some(6), Some(Fragment::Later)) => frame::IPV6 + 2,
        _ => flow.other,
    };
    usize::from(index)
}

/// The words that are not 0, one bit each.
fn summary(vector: &Vector) -> u32 {
    vector.iter().zip(0..).filter(|(bits, _)| **bits != 0).map(|(_, word)| 1 << word).sum()
}

/// Prefixes that meet each other.
pub fn contents() -> impl Strategy<Value = Content> {
    let fields = 1..1_u32 << FIELDS;
    let pool = (vec(vector(), FIELDS), vec(vector(), 1..12));
    let sets = vec((prefix(), 1..1_u64 << 9), 0..20);
    (fields, pool, vec(any::<u16>(), 0..30), vec(prefix(), 0..20), sets, any::<u64>()).prop_map(
        |(fields, (wild, entries), bounds, listed, sets, seed)| Content {
            fields,
            wild,
            entries,
            bounds,
            listed,
            sets,
            seed,
        },
    )
}

/// Dense in a few words, the same few for all, or hardly a bit would be left.
fn vector() -> impl Strategy<Value = Vector> {
    vec((select(vec![0, 1, 7, 8, 30, 31]), any::<[u64; 3]>()), 0..6).prop_map(|words| {
        let mut vector = [0; WORDS];
        for (word, [a, b, c]) in words {
            vector[word] = a | b | c;
        }
        vector
    })
}
