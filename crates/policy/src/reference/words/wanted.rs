//! What a rule wants of one field, in words.

use std::fmt::Display;

use super::Field;
use super::found::{ip_version, tcp_flags};
use crate::{Fields, FragmentPart, FrameKind, IcmpRange, SetReference, TcpFlags, protocol_name};

/// So many alternatives are named; more are only counted.
const NAMED: usize = 4;

/// `9 or 100-200`.
pub(super) fn words(field: Field, wanted: &Fields) -> String {
    let given = match field {
        Field::Frame => wanted.frame.map(|kind| frame(kind).to_owned()),
        Field::Vlan => any_of(&wanted.vlan_ids),
        Field::IpVersion => wanted.ip_version.map(|version| ip_version(version).to_string()),
        Field::Protocol => wanted.protocol.map(protocol_name),
        Field::Source => any_of(&wanted.sources),
        Field::SourceSets => wanted.source_sets.as_ref().map(sets),
        Field::Destination => any_of(&wanted.destinations),
        Field::DestinationSets => wanted.destination_sets.as_ref().map(sets),
        Field::SourcePort => any_of(&wanted.source_ports),
        Field::DestinationPort => any_of(&wanted.destination_ports),
        Field::TcpFlags => wanted.tcp_flags.map(flags),
        Field::Icmp => any_of(&wanted.icmp.iter().map(icmp).collect::<Vec<_>>()),
        Field::Fragment => wanted.fragment.map(|part| fragment(part).to_owned()),
        Field::Length => wanted.length.map(|range| range.to_string()),
    };
    given.unwrap_or_else(|| "anything".to_owned())
}

fn any_of<T: Display>(values: &[T]) -> Option<String> {
    let mut names: Vec<String> = values.iter().take(NAMED).map(ToString::to_string).collect();
    if values.len() > NAMED {
        names.push(format!("one of {} more", values.len() - NAMED));
    }
    (!values.is_empty()).then(|| names.join(" or "))
}

/// What is in a set changes while a policy stands, so only its name is said.
fn sets(reference: &SetReference) -> String {
    match any_of(&reference.names) {
        Some(names) => format!("one in the sets {names}"),
        None => "one in the sets with a label, and there is no such set".to_owned(),
    }
}

fn flags(TcpFlags { set, unset }: TcpFlags) -> String {
    let parts = [(set, "set"), (unset, "not set")];
    let given = parts.into_iter().filter(|(bits, _)| *bits != 0);
    given.map(|(bits, how)| format!("{} {how}", tcp_flags(bits))).collect::<Vec<_>>().join(", and ")
}

fn icmp(range: &IcmpRange) -> String {
    let IcmpRange { first_type, last_type, code } = range;
    let types =
        if first_type == last_type { first_type.to_string() } else { format!("{first_type}-{last_type}") };
    code.map_or_else(|| types.clone(), |code| format!("{types} with code {code}"))
}

const fn fragment(part: FragmentPart) -> &'static str {
    match part {
        FragmentPart::First => "a first fragment",
        FragmentPart::Later => "a later fragment",
        FragmentPart::Any => "a fragment",
    }
}

const fn frame(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Arp => "ARP",
        FrameKind::LinkControl => "link control (to 01:80:c2:00:00:00 to 0f, and not IP)",
    }
}
