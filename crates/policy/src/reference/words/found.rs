//! What a packet shows, in words.

use std::fmt;

use super::super::packet::{ETHER_TYPE_ARP, ETHER_TYPE_IPV4, ETHER_TYPE_IPV6};
use super::Field;
use crate::reference::{FragmentPlace, Packet};
use crate::{IpVersion, protocol_name};

/// TCP flags by name, from the lowest bit on.
const TCP_FLAGS: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
/// Below this the EtherType is the length of an 802.3 frame.
const LEAST_ETHER_TYPE: u16 = 0x600;

/// The name of a field.
pub(super) const fn name(field: Field) -> &'static str {
    match field {
        Field::Frame => "the kind of frame",
        Field::Vlan => "the VLAN id",
        Field::IpVersion => "the IP version",
        Field::Protocol => "the protocol",
        Field::Source | Field::SourceSets => "the source",
        Field::Destination | Field::DestinationSets => "the destination",
        Field::SourcePort => "the source port",
        Field::DestinationPort => "the destination port",
        Field::TcpFlags => "the TCP flags byte",
        Field::Icmp => "the ICMP type",
        Field::Fragment => "the place of the fragment",
        Field::Length => "the length",
    }
}

/// What the packet has there: `destination port is 9`.
pub(super) fn sentence(field: Field, packet: &Packet) -> String {
    match field {
        Field::Frame => format!("the frame is {}", frame(packet)),
        Field::Vlan => format!("outermost VLAN id is {}", value(packet.vlans.first())),
        Field::IpVersion => format!("IP version is {}", value(packet.ip_version.map(ip_version))),
        Field::Protocol => format!("protocol is {}", value(packet.protocol.map(protocol_name))),
        Field::Source | Field::SourceSets => format!("source is {}", value(packet.source)),
        Field::Destination | Field::DestinationSets => {
            format!("destination is {}", value(packet.destination))
        }
        Field::SourcePort => format!("source port is {}", value(packet.source_port)),
        Field::DestinationPort => format!("destination port is {}", value(packet.destination_port)),
        Field::TcpFlags => format!("TCP flags are {}", value(packet.tcp_flags.map(tcp_flags))),
        Field::Icmp => {
            let words = packet.icmp.map(|(kind, code)| format!("{kind}, code {code}"));
            format!("ICMP type is {}", value(words))
        }
        Field::Fragment => format!("the packet is {}", value(packet.fragment.map(place))),
        Field::Length => format!("length is {} bytes", value(packet.l3_length)),
    }
}

fn value<T: fmt::Display>(known: Option<T>) -> String {
    known.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

pub(super) const fn ip_version(version: IpVersion) -> u8 {
    match version {
        IpVersion::V4 => 4,
        IpVersion::V6 => 6,
    }
}

/// `SYN and ACK`, or `none`.
pub(super) fn tcp_flags(byte: u8) -> String {
    let set = TCP_FLAGS.iter().enumerate().filter(|(bit, _)| byte & (1 << bit) != 0);
    let names: Vec<&str> = set.map(|(_, name)| *name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" and ") }
}

const fn place(place: FragmentPlace) -> &'static str {
    match place {
        FragmentPlace::Whole => "no fragment",
        FragmentPlace::First => "a first fragment",
        FragmentPlace::Later => "a later fragment",
    }
}

/// What the frame carries, by its type.
pub(super) fn frame(packet: &Packet) -> String {
    match packet.ether_type {
        None => "too short".to_owned(),
        Some(ETHER_TYPE_IPV4) => "IPv4".to_owned(),
        Some(ETHER_TYPE_IPV6) => "IPv6".to_owned(),
        Some(ETHER_TYPE_ARP) => "ARP".to_owned(),
        Some(length) if length < LEAST_ETHER_TYPE => "802.3 with a length field".to_owned(),
        Some(other) => format!("of EtherType {other:#06x}"),
    }
}
