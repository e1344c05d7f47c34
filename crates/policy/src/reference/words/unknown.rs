//! Why a packet does not show a field, in words.

use sluice_ebpf_common::Malformed;

use super::Field;
use super::found::frame;
use crate::protocol_name;
use crate::reference::{FragmentPlace, Packet};

const TCP: u8 = 6;
const WITH_PORTS: [u8; 3] = [TCP, 17, 132];
const WITH_ICMP_TYPE: [u8; 2] = [1, 58];

/// `a later fragment has no ports`.
pub(super) fn because(field: Field, packet: &Packet) -> String {
    let structural = match field {
        Field::Frame => None,
        Field::Vlan => untagged(packet),
        Field::IpVersion
        | Field::Source
        | Field::SourceSets
        | Field::Destination
        | Field::DestinationSets
        | Field::Fragment
        | Field::Length => not_ip(packet),
        Field::Protocol => not_ip(packet).or_else(|| behind_extensions(packet)),
        Field::SourcePort | Field::DestinationPort => in_transport("ports", &WITH_PORTS, packet),
        Field::TcpFlags => in_transport("TCP flags", &[TCP], packet),
        Field::Icmp => in_transport("ICMP type", &WITH_ICMP_TYPE, packet),
    };
    structural.unwrap_or_else(|| damage(packet))
}

fn untagged(packet: &Packet) -> Option<String> {
    let is_cut = matches!(packet.malformed, Some(Malformed::FrameTooShort | Malformed::VlanTruncated));
    (!is_cut).then(|| "the frame has no VLAN tag".to_owned())
}

fn not_ip(packet: &Packet) -> Option<String> {
    (packet.is_ip() == Some(false)).then(|| format!("the frame is not IP, but {}", frame(packet)))
}

fn behind_extensions(packet: &Packet) -> Option<String> {
    let is_later = packet.fragment == Some(FragmentPlace::Later);
    is_later.then(|| "behind extension headers only the first fragment shows it".to_owned())
}

fn in_transport(what: &str, protocols: &[u8], packet: &Packet) -> Option<String> {
    let of_another = || {
        let other = packet.protocol.filter(|protocol| !protocols.contains(protocol))?;
        Some(format!("{} has no {what}", protocol_name(other)))
    };
    let of_later = || {
        let is_later = packet.fragment == Some(FragmentPlace::Later);
        is_later.then(|| format!("a later fragment has no {what}"))
    };
    not_ip(packet).or_else(of_another).or_else(of_later)
}

fn damage(packet: &Packet) -> String {
    match packet.malformed {
        Some(reason) => format!("the packet is malformed before it ({})", reason.name()),
        None => "the packet does not show it".to_owned(),
    }
}
