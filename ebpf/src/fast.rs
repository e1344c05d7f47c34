//! The straight line for nearly every packet: TCP and UDP, directly behind an IPv4 header without options or an IPv6
//! header, in an untagged frame, whole and undamaged. Every field is known then, so that nothing is kept but numbers in
//! registers. Anything else is left to the parser, and a rule that does not decide to a [`Walk`]: what is done here is what
//! these do with such a packet, and the differential tests hold it to that.

use sluice_ebpf_common::{
    Tables,
    tables::{Entry, Field, frame},
};

use crate::{
    address::{Address, fixed_class},
    classify::{NO_RULE, SETS, Vectors, added, clear_sets, entry, run, sets},
    flow::{ETHER_TYPE_IPV4, ETHER_TYPE_IPV6},
    ipv4, ipv6,
    parse::{ETHERNET_HEADER, Frame},
    transport::{Ports, TCP, TcpHeader, UDP, UdpHeader},
    vary::{Values, Varied, vary},
    walk::{Environment, settle},
};

/// What [`judge`] says of a packet that is not for it.
pub const NOT_FOR_US: u32 = 0x101;
/// What it says when a walk has begun.
pub const WALK: u32 = 0x100;

/// A packet of which every field is known.
struct Known {
    version: u8,
    protocol: u8,
    source: Address,
    destination: Address,
    length: usize,
}

/// Ports in network order, and the flags of TCP.
struct Transport {
    ports: Ports,
    flags: Option<u8>,
}

/// The code of the outcome, [`WALK`] or [`NOT_FOR_US`]. `bytes` is the length of the frame.
#[inline(always)]
pub fn judge<F: Frame, E: Environment>(
    head: &F,
    bytes: usize,
    tables: &Tables,
    varied: &Varied,
    environment: &E,
) -> u32 {
    let Some(ether_type) = head.read::<u16>(ETHERNET_HEADER - 2) else { return NOT_FOR_US };
    if ether_type == ETHER_TYPE_IPV4.to_be() {
        let Some(header) = head.read::<ipv4::Header>(ETHERNET_HEADER) else { return NOT_FOR_US };
        let length = usize::from(u16::from_be(header.total_length));
        // Neither a fragment nor one that others follow.
        let is_whole = header.fragment & 0x3fff_u16.to_be() == 0;
        if header.version_and_length != 0x45
            || !is_whole
            || length < 28
            || !head.holds(ETHERNET_HEADER + length)
        {
            return NOT_FOR_US;
        }
        let (source, destination) = (Address::v4(header.source), Address::v4(header.destination));
        let mut known = Known { version: 4, protocol: header.protocol, source, destination, length };
        return transport(
            head,
            ETHERNET_HEADER + 20,
            length - 20,
            &mut known,
            bytes,
            tables,
            varied,
            environment,
        );
    }
    if ether_type == ETHER_TYPE_IPV6.to_be() {
        let Some(header) = head.read::<ipv6::Header>(ETHERNET_HEADER) else { return NOT_FOR_US };
        let payload = usize::from(u16::from_be(header.payload_length));
        let is_version_6 = header.version_and_flow[0] >> 4 == 6;
        if !is_version_6 || payload < 8 || !head.holds(ETHERNET_HEADER + 40 + payload) {
            return NOT_FOR_US;
        }
        let (source, destination) = (Address::v6(&header.source), Address::v6(&header.destination));
        let mut known =
            Known { version: 6, protocol: header.next, source, destination, length: 40 + payload };
        return transport(
            head,
            ETHERNET_HEADER + 40,
            payload,
            &mut known,
            bytes,
            tables,
            varied,
            environment,
        );
    }
    NOT_FOR_US
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the parts of a packet that are known by then")]
fn transport<F: Frame, E: Environment>(
    head: &F,
    offset: usize,
    length: usize,
    known: &mut Known,
    bytes: usize,
    tables: &Tables,
    varied: &Varied,
    environment: &E,
) -> u32 {
    let mut transport = if known.protocol == UDP {
        let Some(header) = head.read::<UdpHeader>(offset) else { return NOT_FOR_US };
        let udp_length = usize::from(u16::from_be(header.length));
        if udp_length < 8 || udp_length > length {
            return NOT_FOR_US;
        }
        Transport { ports: header.ports, flags: None }
    } else if known.protocol == TCP {
        let Some(header) = head.read::<TcpHeader>(offset) else { return NOT_FOR_US };
        let header_length = usize::from(header.data_offset >> 4) * 4;
        if length < 20 || header_length < 20 || header_length > length {
            return NOT_FOR_US;
        }
        Transport { ports: header.ports, flags: Some(header.flags) }
    } else {
        return NOT_FOR_US;
    };
    let Known { version, source, destination, .. } = known;
    vary(varied, Values { version: *version, source, destination, ports: &mut transport.ports });
    decide(known, &transport, bytes, tables, environment)
}

/// What the values add, field by field; what is not used is not looked up.
struct Added {
    frame: Entry,
    protocol: Entry,
    source_port: Entry,
    destination_port: Entry,
    source: Entry,
    destination: Entry,
    tcp_flags: Entry,
    length: Entry,
}

#[inline(always)]
fn decide<E: Environment>(
    known: &Known,
    transport: &Transport,
    bytes: usize,
    tables: &Tables,
    environment: &E,
) -> u32 {
    let added_by = added_by(known, transport, tables, environment);
    if tables.fields & RARE != 0 {
        clear_sets(tables, environment);
        sets(tables, Some(known.source), Some(known.destination), environment, known.version);
    }
    let candidates = candidates(&added_by, tables, environment);
    if candidates == 0 {
        return settle(tables, NO_RULE, None, bytes, environment).map_or(WALK, u32::from);
    }
    let walk = environment.walk();
    let number = walk.matched.scan(tables, candidates, &OfPacket { added_by, environment });
    if let Some(outcome) = settle(tables, number, None, bytes, environment) {
        return u32::from(outcome);
    }
    walk.begin(known.version, known.source.words(known.version), None, bytes);
    WALK
}

#[inline(always)]
fn added_by<E: Environment>(known: &Known, transport: &Transport, tables: &Tables, environment: &E) -> Added {
    let uses = |field: Field| tables.fields & field.bit() != 0;
    let of = |number: u16| entry(tables, number);
    let class_of = |base: u32, address: Address| {
        let class = fixed_class(environment.fixed(), known.version, address.high, address.low);
        base.wrapping_add(class) as u16
    };
    let index = if known.version == 4 { frame::IPV4 } else { frame::IPV6 };
    // One expression a field: a value that is filled in afterwards would be cleared first, byte by byte.
    let if_used =
        |field: Field, number: &dyn Fn() -> u16| if uses(field) { of(number()) } else { Entry::NONE };
    let if_rare = |field: Field, number: &dyn Fn() -> u16| {
        if tables.fields & RARE != 0 { if_used(field, number) } else { Entry::NONE }
    };
    Added {
        protocol: if_used(Field::Protocol, &|| tables.protocol[usize::from(known.protocol)]),
        source_port: if_used(Field::SourcePort, &|| {
            run(&tables.source_port, u16::from_be(transport.ports[0]))
        }),
        destination_port: if_used(Field::DestinationPort, &|| {
            run(&tables.destination_port, u16::from_be(transport.ports[1]))
        }),
        source: if_used(Field::Source, &|| class_of(tables.source_classes, known.source)),
        destination: if_used(Field::Destination, &|| class_of(tables.destination_classes, known.destination)),
        frame: if_rare(Field::Frame, &|| tables.frame[usize::from(index)]),
        tcp_flags: if_rare(Field::TcpFlags, &|| {
            transport.flags.map_or(0, |flags| tables.tcp_flags[usize::from(flags)])
        }),
        // At most 65575: an IPv6 packet above 65535 is in no range.
        length: if_rare(Field::Length, &|| match u16::try_from(known.length) {
            // Hidden, or the compiler would compare what the length is a sum of, and Linux 6.1 not see its bound.
            Ok(length) => run(&tables.length, core::hint::black_box(length)),
            Err(_) => tables.length_beyond as u16,
        }),
    }
}

/// Fields that few policies use. One question for all of them saves what asking for each costs, which the verifier does
/// not remove with the answer.
const RARE: u32 = Field::Frame.bit()
    | Field::TcpFlags.bit()
    | Field::Icmp.bit()
    | Field::Vlan.bit()
    | Field::Length.bit()
    | Field::SourceSet.bit()
    | Field::DestinationSet.bit()
    | Field::SourceNotSet.bit()
    | Field::DestinationNotSet.bit();

/// Calls `$each!(field, entry)` for the fields that many policies use.
macro_rules! common_entries {
    ($added:ident, $each:ident) => {
        $each!(Protocol, $added.protocol);
        $each!(SourcePort, $added.source_port);
        $each!(DestinationPort, $added.destination_port);
        $each!(Source, $added.source);
        $each!(Destination, $added.destination);
    };
}

/// Likewise for the others. What is unknown here adds nothing.
macro_rules! rare_entries {
    ($added:ident, $each:ident) => {
        $each!(Frame, $added.frame);
        $each!(TcpFlags, $added.tcp_flags);
        $each!(Icmp, Entry::NONE);
        $each!(Vlan, Entry::NONE);
        $each!(Length, $added.length);
    };
}

#[inline(always)]
fn candidates<E: Environment>(added_by: &Added, tables: &Tables, environment: &E) -> u32 {
    let mut summary = u32::MAX;
    macro_rules! narrow {
        ($field:ident, $entry:expr) => {
            if tables.fields & Field::$field.bit() != 0 {
                summary &= tables.wild_summary[Field::$field as usize] | $entry.summary;
            }
        };
    }
    common_entries!(added_by, narrow);
    if tables.fields & RARE == 0 {
        return summary;
    }
    rare_entries!(added_by, narrow);
    for (field, side) in SETS {
        if tables.fields & field.bit() != 0 {
            summary &= tables.wild_summary[field as usize] | environment.merged(side as usize).summary(side);
        }
    }
    summary
}

struct OfPacket<'a, E: Environment> {
    added_by: Added,
    environment: &'a E,
}

impl<E: Environment> Vectors for OfPacket<'_, E> {
    #[inline(always)]
    fn word(&self, tables: &Tables, word: usize) -> u64 {
        let added_by = &self.added_by;
        let mut bits = u64::MAX;
        macro_rules! narrow {
            ($field:ident, $entry:expr) => {
                if tables.fields & Field::$field.bit() != 0 {
                    bits &= tables.wild[Field::$field as usize][word] | added(tables, $entry, word);
                }
            };
        }
        common_entries!(added_by, narrow);
        if tables.fields & RARE == 0 {
            return bits;
        }
        rare_entries!(added_by, narrow);
        for (field, side) in SETS {
            if tables.fields & field.bit() != 0 {
                let lists = self.environment.merged(side as usize).accepts(side, word);
                bits &= tables.wild[field as usize][word] | lists;
            }
        }
        bits
    }
}
