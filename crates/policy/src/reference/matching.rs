//! Whether a rule matches a packet. Each field that the rule gives has one of three answers, and unknown never
//! matches, neither plainly nor under `not`.

use std::net::IpAddr;

use ipnet::IpNet;

use super::packet::ETHER_TYPE_ARP;
use super::{FragmentPlace, Packet, Sets};
use crate::{Fields, FragmentPart, FrameKind, IcmpRange, LengthRange, Matcher, SetReference, TcpFlags};

/// What a packet says to one field of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Fits,
    DoesNotFit,
    Unknown,
}

/// The fields that a rule can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Frame,
    Vlan,
    IpVersion,
    Protocol,
    Source,
    SourceSets,
    Destination,
    DestinationSets,
    SourcePort,
    DestinationPort,
    TcpFlags,
    Icmp,
    Fragment,
    Length,
}

impl Field {
    /// All of them, in the order in which an explanation names them: from the outside of a frame to its inside.
    pub const ALL: [Self; 14] = [
        Self::Frame,
        Self::Vlan,
        Self::IpVersion,
        Self::Protocol,
        Self::Source,
        Self::SourceSets,
        Self::Destination,
        Self::DestinationSets,
        Self::SourcePort,
        Self::DestinationPort,
        Self::TcpFlags,
        Self::Icmp,
        Self::Fragment,
        Self::Length,
    ];
}

/// Whether a rule with this matcher matches: every field that is given fits, and `not`, if given, is certainly
/// false, since at least one of its fields is known and does not fit.
#[must_use]
pub fn matches(matcher: &Matcher, packet: &Packet, sets: &dyn Sets) -> bool {
    let holds = answers(&matcher.fields, packet, sets).all(|(_, answer)| answer == Answer::Fits);
    let is_certainly_false =
        |not: &Fields| answers(not, packet, sets).any(|(_, answer)| answer == Answer::DoesNotFit);
    holds && matcher.not.as_ref().is_none_or(is_certainly_false)
}

/// The answers to all fields that are given.
pub(super) fn answers(
    wanted: &Fields,
    packet: &Packet,
    sets: &dyn Sets,
) -> impl Iterator<Item = (Field, Answer)> {
    Field::ALL.into_iter().filter_map(|field| Some((field, answer(field, wanted, packet, sets)?)))
}

/// The answer to one field; none if the rule does not give it.
fn answer(field: Field, wanted: &Fields, packet: &Packet, sets: &dyn Sets) -> Option<Answer> {
    match field {
        Field::Frame => wanted.frame.map(|kind| of(frame(kind, packet))),
        Field::Vlan => list(&wanted.vlan_ids, packet.vlans.first(), |id, outermost| id == outermost),
        Field::IpVersion => wanted.ip_version.map(|version| one(packet.ip_version, |ip| ip == version)),
        Field::Protocol => wanted.protocol.map(|number| one(packet.protocol, |protocol| protocol == number)),
        Field::Source => addresses(&wanted.sources, packet.source),
        Field::SourceSets => in_sets(wanted.source_sets.as_ref(), packet.source, sets),
        Field::Destination => addresses(&wanted.destinations, packet.destination),
        Field::DestinationSets => in_sets(wanted.destination_sets.as_ref(), packet.destination, sets),
        Field::SourcePort => {
            list(&wanted.source_ports, packet.source_port, |range, port| range.contains(port))
        }
        Field::DestinationPort => {
            list(&wanted.destination_ports, packet.destination_port, |range, port| range.contains(port))
        }
        Field::TcpFlags => wanted.tcp_flags.map(|flags| one(packet.tcp_flags, |byte| tcp_flags(flags, byte))),
        Field::Icmp => list(&wanted.icmp, packet.icmp, icmp),
        Field::Fragment => wanted.fragment.map(|part| one(packet.fragment, |place| fragment(part, place))),
        Field::Length => wanted.length.map(|range| one(packet.l3_length, |bytes| length(range, bytes))),
    }
}

fn of(fits: Option<bool>) -> Answer {
    match fits {
        None => Answer::Unknown,
        Some(true) => Answer::Fits,
        Some(false) => Answer::DoesNotFit,
    }
}

fn one<T>(known: Option<T>, fits: impl Fn(T) -> bool) -> Answer {
    of(known.map(fits))
}

/// Values of a list are alternatives; an empty list asks for nothing.
fn list<W, T: Copy>(wanted: &[W], known: Option<T>, fits: impl Fn(&W, T) -> bool) -> Option<Answer> {
    (!wanted.is_empty()).then(|| one(known, |value| wanted.iter().any(|wanted| fits(wanted, value))))
}

/// Neither family is in a prefix of the other.
fn addresses(prefixes: &[IpNet], address: Option<IpAddr>) -> Option<Answer> {
    list(prefixes, address, |prefix, address| match (prefix, address) {
        (IpNet::V4(prefix), IpAddr::V4(address)) => prefix.contains(&address),
        (IpNet::V6(prefix), IpAddr::V6(address)) => prefix.contains(&address),
        _ => false,
    })
}

/// In a plan all sets are named; a selector has been resolved to names.
fn in_sets(reference: Option<&SetReference>, address: Option<IpAddr>, sets: &dyn Sets) -> Option<Answer> {
    let holds = |address| reference.is_some_and(|of| of.names.iter().any(|set| sets.contains(set, address)));
    reference.map(|_| one(address, holds))
}

fn tcp_flags(wanted: TcpFlags, byte: u8) -> bool {
    byte & wanted.set == wanted.set && byte & wanted.unset == 0
}

fn icmp(range: &IcmpRange, (kind, code): (u8, u8)) -> bool {
    range.first_type <= kind && kind <= range.last_type && range.code.is_none_or(|wanted| wanted == code)
}

fn fragment(part: FragmentPart, place: FragmentPlace) -> bool {
    match part {
        FragmentPart::First => place == FragmentPlace::First,
        FragmentPart::Later => place == FragmentPlace::Later,
        FragmentPart::Any => place != FragmentPlace::Whole,
    }
}

/// A packet of more than 65535 bytes is in no range.
fn length(range: LengthRange, bytes: usize) -> bool {
    u16::try_from(bytes).is_ok_and(|bytes| range.contains(bytes))
}

/// A frame is of one kind at most: ARP is ARP, wherever it goes.
fn frame(kind: FrameKind, packet: &Packet) -> Option<bool> {
    let is_ip = packet.is_ip()?;
    let is_arp = packet.ether_type? == ETHER_TYPE_ARP;
    let [start @ .., last] = packet.destination_mac?;
    let to_link_control = start == [0x01, 0x80, 0xc2, 0, 0] && last <= 0x0f;
    Some(match kind {
        FrameKind::Arp => is_arp,
        FrameKind::LinkControl => to_link_control && !is_ip && !is_arp,
    })
}
