//! Bit vectors: AND what each field accepts, take the lowest bit. See [`Tables`] for the layout.

use sluice_ebpf_common::{
    Tables,
    tables::{Entry, Field, MAX_ENTRIES, MAX_EXTRA, MAX_RUNS, Runs, SIDES, Side, frame},
};

use crate::{
    address::{Address, fixed_class, live_lists, live_version},
    flow::{Flow, Fragment},
    merged::merge,
    walk::Environment,
};
pub use crate::{
    matched::{Matched, NO_RULE},
    merged::{Merged, merge_one},
};

/// What a packet's values add to the wild vectors: by field, the number of an entry. (Entries themselves would fill the
/// stack, of which the kernel gives 512 bytes.)
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    frame: u16,
    protocol: u16,
    source_port: u16,
    destination_port: u16,
    source: u16,
    destination: u16,
    tcp_flags: u16,
    icmp: u16,
    vlan: u16,
    length: u16,
}

/// The entry that adds nothing.
const NONE: u16 = 0;

/// Looks every field up that some rule reads. `accepted` must be memory of a map: the verifier then forgets which fields
/// were known, and does not follow every combination of them through all that comes.
#[inline(always)]
pub fn accept<E: Environment>(tables: &Tables, flow: &Flow, environment: &E, accepted: &mut Accepted) {
    let uses = |field: Field| tables.fields & field.bit() != 0;
    if uses(Field::Frame) {
        accepted.frame = tables.frame[usize::from(frame_index(flow)) & (frame::COUNT - 1)];
    }
    if uses(Field::Protocol) {
        accepted.protocol = flow.protocol.map_or(NONE, |protocol| tables.protocol[usize::from(protocol)]);
    }
    if uses(Field::SourcePort) {
        accepted.source_port = flow.source_port.map_or(NONE, |port| run(&tables.source_port, port));
    }
    if uses(Field::DestinationPort) {
        accepted.destination_port =
            flow.destination_port.map_or(NONE, |port| run(&tables.destination_port, port));
    }
    if uses(Field::TcpFlags) {
        accepted.tcp_flags = flow.tcp_flags.map_or(NONE, |flags| tables.tcp_flags[usize::from(flags)]);
    }
    if uses(Field::Icmp) {
        accepted.icmp = flow.icmp.map_or(NONE, |icmp| run(&tables.icmp, u16::from_be_bytes(icmp)));
    }
    if uses(Field::Vlan) {
        accepted.vlan = flow.vlans[0].map_or(NONE, |id| tables.vlan[usize::from(id) & 0xfff]);
    }
    if uses(Field::Length) {
        accepted.length = flow.l3_length.map_or(NONE, |length| match u16::try_from(length) {
            Ok(length) => run(&tables.length, length),
            Err(_) => tables.length_beyond as u16,
        });
    }
    addresses(tables, flow, environment, accepted);
}

#[inline(always)]
fn addresses<E: Environment>(tables: &Tables, flow: &Flow, environment: &E, accepted: &mut Accepted) {
    let uses = |field: Field| tables.fields & field.bit() != 0;
    let class_entry = |base: u32, class: u32| base.wrapping_add(class) as u16;
    if uses(Field::Source) {
        accepted.source = NONE;
    }
    if uses(Field::Destination) {
        accepted.destination = NONE;
    }
    clear_sets(tables, environment);
    let Some(version) = flow.ip_version else { return };
    if uses(Field::Source)
        && let Some(source) = &flow.source
    {
        accepted.source = class_entry(tables.source_classes, class_of(environment, version, source));
    }
    if uses(Field::Destination)
        && let Some(destination) = &flow.destination
    {
        accepted.destination =
            class_entry(tables.destination_classes, class_of(environment, version, destination));
    }
    let address = |words: &Option<[u32; 4]>| words.as_ref().map(|words| Address::new(version, words));
    sets(tables, address(&flow.source), address(&flow.destination), environment, version);
}

/// Fields that read address sets, each with the side that it takes of the lists.
pub(crate) const SETS: [(Field, Side); SIDES] = [
    (Field::SourceSet, Side::Source),
    (Field::DestinationSet, Side::Destination),
    (Field::SourceNotSet, Side::NotSource),
    (Field::DestinationNotSet, Side::NotDestination),
];

/// Forgets the lists of the packet before.
#[inline(always)]
pub(crate) fn clear_sets<E: Environment>(tables: &Tables, environment: &E) {
    for (field, side) in SETS {
        if tables.fields & field.bit() != 0 {
            environment.merged(side as usize).clear();
        }
    }
}

#[inline(always)]
pub(crate) fn sets<E: Environment>(
    tables: &Tables,
    source: Option<Address>,
    destination: Option<Address>,
    environment: &E,
    version: u8,
) {
    let uses = |field: Field| tables.fields & field.bit() != 0;
    if SETS.iter().all(|(field, _)| !uses(*field)) {
        return;
    }
    let in_force = live_version(environment.live());
    if uses(Field::SourceSet) || uses(Field::SourceNotSet) {
        let lists = source.map_or(0, |address| {
            live_lists(environment.live(), in_force, version, address.high, address.low)
        });
        merge_used(tables, environment, lists, &[SETS[0], SETS[2]]);
    }
    if uses(Field::DestinationSet) || uses(Field::DestinationNotSet) {
        let lists = destination.map_or(0, |address| {
            live_lists(environment.live(), in_force, version, address.high, address.low)
        });
        merge_used(tables, environment, lists, &[SETS[1], SETS[3]]);
    }
}

#[inline(always)]
fn merge_used<E: Environment>(tables: &Tables, environment: &E, lists: u64, sides: &[(Field, Side); 2]) {
    for (field, side) in sides {
        if tables.fields & field.bit() != 0 {
            merge(tables, environment, *side, lists);
        }
    }
}

#[inline(always)]
fn class_of<E: Environment>(environment: &E, version: u8, words: &[u32; 4]) -> u32 {
    let address = Address::new(version, words);
    fixed_class(environment.fixed(), version, address.high, address.low)
}

#[inline(always)]
fn frame_index(flow: &Flow) -> u8 {
    let Some(fragment) = flow.fragment else { return flow.other };
    let part = match fragment {
        Fragment::None => 0,
        Fragment::First => 1,
        Fragment::Later => 2,
    };
    part + if flow.ip_version == Some(4) { frame::IPV4 } else { frame::IPV6 }
}

/// The entry of the run that `value` falls into.
#[inline(always)]
pub(crate) fn run(runs: &Runs, value: u16) -> u16 {
    let word = usize::from(value >> 6);
    // The bits up to the value's own, which are never none: a start at the value itself counts.
    let up_to = u64::MAX >> (63 - (value & 63));
    let number = u32::from(runs.before[word]) + (runs.starts[word] & up_to).count_ones();
    runs.entry[number as usize & (MAX_RUNS - 1)]
}

/// Calls `$each!(field, entry)` for every field with one entry a value.
macro_rules! simple_fields {
    ($self:ident, $each:ident) => {
        $each!(Frame, $self.frame);
        $each!(Protocol, $self.protocol);
        $each!(SourcePort, $self.source_port);
        $each!(DestinationPort, $self.destination_port);
        $each!(Source, $self.source);
        $each!(Destination, $self.destination);
        $each!(TcpFlags, $self.tcp_flags);
        $each!(Icmp, $self.icmp);
        $each!(Vlan, $self.vlan);
        $each!(Length, $self.length);
    };
}

impl Accepted {
    /// Nothing is known.
    pub const NOTHING: Self = Self {
        frame: 0,
        protocol: 0,
        source_port: 0,
        destination_port: 0,
        source: 0,
        destination: 0,
        tcp_flags: 0,
        icmp: 0,
        vlan: 0,
        length: 0,
    };

    /// Finds the rules that match, and the first of them. It is a function of its own for the sake of the stack, and gives
    /// a number since the verifier takes no larger value from one.
    #[inline(never)]
    #[must_use]
    pub fn scan(&self, tables: &Tables, merged: &[Merged; SIDES], matched: &mut Matched) -> u32 {
        matched.scan(tables, self.summary(tables, merged), &OfAccepted { accepted: self, merged })
    }

    /// Words in which every field accepts some rule.
    #[inline(always)]
    fn summary(&self, tables: &Tables, merged: &[Merged; SIDES]) -> u32 {
        let mut summary = u32::MAX;
        macro_rules! narrow {
            ($field:ident, $entry:expr) => {
                if tables.fields & Field::$field.bit() != 0 {
                    summary &= tables.wild_summary[Field::$field as usize] | entry(tables, $entry).summary;
                }
            };
        }
        simple_fields!(self, narrow);
        for (field, side) in SETS {
            if tables.fields & field.bit() != 0 {
                summary &= tables.wild_summary[field as usize] | merged[side as usize].summary(side);
            }
        }
        summary
    }

    /// The rules of one word that every field accepts.
    #[inline(always)]
    fn word(&self, tables: &Tables, merged: &[Merged; SIDES], word: usize) -> u64 {
        // Bits without a rule are in no vector of a field that is used, and some field always is where there are rules.
        let mut bits = u64::MAX;
        macro_rules! narrow {
            ($field:ident, $entry:expr) => {
                if tables.fields & Field::$field.bit() != 0 {
                    bits &= tables.wild[Field::$field as usize][word]
                        | added(tables, entry(tables, $entry), word);
                }
            };
        }
        simple_fields!(self, narrow);
        for (field, side) in SETS {
            if tables.fields & field.bit() != 0 {
                bits &= tables.wild[field as usize][word] | merged[side as usize].accepts(side, word);
            }
        }
        bits
    }
}

#[inline(always)]
pub(crate) fn entry(tables: &Tables, number: u16) -> Entry {
    tables.entries[usize::from(number) & (MAX_ENTRIES - 1)]
}

/// Something that knows which rules match, word by word.
pub trait Vectors {
    /// The rules of one word that match.
    fn word(&self, tables: &Tables, word: usize) -> u64;
}

struct OfAccepted<'a> {
    accepted: &'a Accepted,
    merged: &'a [Merged; SIDES],
}

impl Vectors for OfAccepted<'_> {
    #[inline(always)]
    fn word(&self, tables: &Tables, word: usize) -> u64 {
        self.accepted.word(tables, self.merged, word)
    }
}

/// Number of the lowest bit. The compiler knows its bound and would drop a mask, which the verifier needs.
#[inline(always)]
pub(crate) fn lowest(bits: u64) -> usize {
    core::hint::black_box(bits.trailing_zeros() as usize)
}

/// What an entry adds in one word.
#[inline(always)]
pub(crate) fn added(tables: &Tables, entry: Entry, word: usize) -> u64 {
    // Without a branch, which the verifier would follow both ways for every field and word: where the word has no bits,
    // the index becomes 0, and word 0 of all is 0.
    let has_bits = (entry.summary >> word & 1) as usize;
    let index = (entry.offset as usize).wrapping_add(word) & (MAX_EXTRA - 1);
    tables.extra[index & has_bits.wrapping_neg()]
}
