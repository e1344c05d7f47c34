//! Frames from the inside out. Lengths are right and checksums are not: no parser of ours reads them.

use crate::choices::Choices;
use crate::values::{ESP, GRE, ICMP, ICMP_CODES, ICMP_TYPES, ICMPV6, PORTS, SCTP, TCP, UDP, v4, v6};

const SOURCE: [u8; 6] = [2, 0, 0, 0, 0, 1];
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const EXTENSIONS: [u8; 5] = [60, 0, 43, FRAGMENT, AUTHENTICATION];

/// A VLAN tag.
pub struct Tag {
    pub ether_type: u16,
    /// Priority, drop eligibility and id.
    pub control: u16,
}

/// Where a packet stands in its datagram.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Whole,
    First,
    Later,
    /// IPv6: a fragment header that says that there is no fragment; IPv4: "do not fragment".
    Atomic,
}

/// A whole frame.
pub fn tagged(destination: [u8; 6], tags: &[Tag], ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = [destination, SOURCE].concat();
    for tag in tags {
        frame.extend(tag.ether_type.to_be_bytes());
        frame.extend(tag.control.to_be_bytes());
    }
    frame.extend(ether_type.to_be_bytes());
    frame.extend(packet);
    frame
}

/// A request.
pub fn arp() -> Vec<u8> {
    [&[0, 1, 8, 0, 6, 4, 0, 1][..], &SOURCE, &[10, 0, 0, 1], &[0; 6], &[10, 0, 0, 2]].concat()
}

pub fn ipv4(choices: &mut Choices<'_>) -> Vec<u8> {
    let (source, destination) = (v4(choices), v4(choices));
    let option_words = choices.weighted(&[(190, 0_usize), (40, 1), (10, 3), (16, 10)]);
    let place = place(choices);
    let (protocol, body) = transport(choices, place == Place::Later);
    let header_length = 20 + option_words * 4;
    let total = u16::try_from(header_length + body.len()).unwrap_or(u16::MAX);
    let fragment = match place {
        Place::Whole => 0,
        Place::First => 0x2000,
        Place::Later => 0x00b9 | choices.of(&[0_u16, 0x2000]),
        Place::Atomic => 0x4000_u16,
    };
    let mut packet = vec![0x45 + u8::try_from(option_words).unwrap(), 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0x12, 0x34]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.resize(header_length, 1);
    packet.extend(body);
    packet
}

pub fn ipv6(choices: &mut Choices<'_>) -> Vec<u8> {
    let (source, destination) = (v6(choices), v6(choices));
    let count =
        choices.weighted(&[(150, 0_usize), (50, 1), (20, 2), (10, 3), (6, 7), (6, 8), (6, 9), (8, 4)]);
    let place = place(choices);
    let (protocol, body) = transport(choices, place == Place::Later);
    let mut kinds: Vec<u8> = (0..count).map(|_| choices.of(&[60, 0, 43, AUTHENTICATION])).collect();
    if place != Place::Whole {
        kinds.insert(choices.below(kinds.len() + 1), FRAGMENT);
    }
    // From the inside out, so that each header knows what follows.
    let (mut next, mut payload) = (protocol, body);
    for kind in kinds.into_iter().rev() {
        payload = [extension(choices, kind, next, place), payload].concat();
        next = kind;
    }
    debug_assert!(next == protocol || EXTENSIONS.contains(&next));
    let length = u16::try_from(payload.len()).unwrap_or(u16::MAX);
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([next, 64]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(payload);
    packet
}

fn place(choices: &mut Choices<'_>) -> Place {
    choices.weighted(&[(190, Place::Whole), (22, Place::First), (22, Place::Later), (22, Place::Atomic)])
}

fn extension(choices: &mut Choices<'_>, kind: u8, next: u8, place: Place) -> Vec<u8> {
    if kind == FRAGMENT {
        let field = match place {
            Place::First => 1,
            Place::Later => 0x05a8 | choices.of(&[0_u16, 1]),
            _ => 0,
        };
        return [&[next, 0][..], &field.to_be_bytes(), &[0, 0, 0, 7]].concat();
    }
    let units = choices.weighted(&[(200, 1_u8), (40, 2), (16, 255)]);
    let words = if kind == AUTHENTICATION { units.min(100) * 2 } else { 0 };
    let bytes = if kind == AUTHENTICATION { usize::from(words) * 4 } else { usize::from(units) * 8 };
    let mut header = vec![0; bytes];
    header[0] = next;
    header[1] = if kind == AUTHENTICATION { words - 2 } else { units - 1 };
    header
}

/// The protocol, and a segment of it. A later fragment holds what could be taken for one.
fn transport(choices: &mut Choices<'_>, is_later: bool) -> (u8, Vec<u8>) {
    let protocols = [
        (70, UDP),
        (60, TCP),
        (20, SCTP),
        (24, ICMP),
        (30, ICMPV6),
        (10, GRE),
        (10, ESP),
        (10, 99),
        (6, 0),
        (6, 4),
        (4, 59),
        (4, 255),
    ];
    let protocol = choices.weighted(&protocols);
    let mut segment = header(choices, protocol);
    let payload = choices.weighted(&[
        (60, 18_usize),
        (50, 0),
        (30, 1),
        (30, 8),
        (30, 32),
        (30, 100),
        (12, 1400),
        (8, 3500),
        (6, 9000),
    ]);
    segment.extend([0, 80, 0, 9].iter().cycle().take(payload));
    if protocol == UDP && !is_later {
        let length = u16::try_from(segment.len()).unwrap_or(u16::MAX);
        segment[4..6].copy_from_slice(&length.to_be_bytes());
    }
    (protocol, segment)
}

fn header(choices: &mut Choices<'_>, protocol: u8) -> Vec<u8> {
    let ports = |choices: &mut Choices<'_>| {
        let (source, destination) = (choices.of(&PORTS), choices.of(&PORTS));
        [source.to_be_bytes(), destination.to_be_bytes()].concat()
    };
    match protocol {
        UDP => [ports(choices), vec![0; 4]].concat(),
        TCP => {
            let options = choices.weighted(&[(200, 0_u8), (40, 1), (16, 10)]);
            let flags = choices.of(&[2, 0x12, 0x10, 0x18, 0, 1, 3, 4, 0xc2, 0x29, 0xff]);
            let rest = [&[0, 0, 0, 1, 0, 0, 0, 0, (5 + options) << 4, flags][..], &[0xfa, 0xf0, 0, 0, 0, 0]]
                .concat();
            [ports(choices), rest, vec![1; usize::from(options) * 4]].concat()
        }
        SCTP => [ports(choices), vec![0; 8]].concat(),
        ICMP | ICMPV6 => [&[choices.of(&ICMP_TYPES), choices.of(&ICMP_CODES)][..], &[0; 6]].concat(),
        _ => vec![0; 4],
    }
}
