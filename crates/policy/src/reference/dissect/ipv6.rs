//! IPv6: header, extension headers, fragments.

use std::net::Ipv6Addr;

use sluice_ebpf_common::Malformed;

use super::Cursor;
use super::transport;
use crate::IpVersion;
use crate::reference::{FragmentPlace, Packet};

const HEADER: usize = 40;
const MOST_EXTENSIONS: usize = 8;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const EXTENSIONS: [u8; 5] = [HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS];

pub(super) fn read(cursor: &mut Cursor<'_>, packet: &mut Packet) -> Result<(), Malformed> {
    packet.l3_offset = Some(cursor.at());
    let header = cursor.take::<HEADER>().ok_or(Malformed::Ipv6Truncated)?;
    if header[0] >> 4 != 6 {
        return Err(Malformed::Ipv6BadVersion);
    }
    let next = header[6];
    let payload = match u16::from_be_bytes([header[4], header[5]]) {
        // A jumbogram begins so. The host takes all of the frame, and does not insist on the jumbo option.
        0 if next == HOP_BY_HOP => cursor.left(),
        length => usize::from(length),
    };
    cursor.end_after(payload).ok_or(Malformed::Ipv6PayloadLength)?;

    packet.ip_version = Some(IpVersion::V6);
    packet.l3_length = Some(HEADER + payload);
    packet.source = address(&header[8..24]);
    packet.destination = address(&header[24..40]);
    packet.fragment = Some(FragmentPlace::Whole);
    extensions(cursor, next, packet)
}

fn address(bytes: &[u8]) -> Option<std::net::IpAddr> {
    let octets: [u8; 16] = bytes.try_into().ok()?;
    Some(Ipv6Addr::from(octets).into())
}

fn extensions(cursor: &mut Cursor<'_>, first: u8, packet: &mut Packet) -> Result<(), Malformed> {
    let mut next = first;
    let mut walked = 0;
    while EXTENSIONS.contains(&next) {
        if walked == MOST_EXTENSIONS {
            return Err(Malformed::Ipv6ExtensionDepth);
        }
        let kind = next;
        let start = cursor.peek::<8>().ok_or(Malformed::Ipv6ExtensionTruncated)?;
        cursor.skip(length(kind, start[1])).ok_or(Malformed::Ipv6ExtensionTruncated)?;
        next = start[0];
        walked += 1;
        if kind == FRAGMENT {
            match place([start[2], start[3]]) {
                // An atomic fragment is no fragment, and takes nothing back.
                FragmentPlace::Whole => {}
                FragmentPlace::First => packet.fragment = Some(FragmentPlace::First),
                FragmentPlace::Later => return later(next, packet),
            }
        }
    }
    packet.protocol = Some(next);
    transport::read(cursor, next, packet)
}

/// What follows is payload. Behind another extension header the upper protocol stands in the first
/// fragment only.
#[allow(clippy::unnecessary_wraps, reason = "the walk returns what it returns")]
fn later(next: u8, packet: &mut Packet) -> Result<(), Malformed> {
    packet.fragment = Some(FragmentPlace::Later);
    if !EXTENSIONS.contains(&next) {
        packet.protocol = Some(next);
    }
    Ok(())
}

/// Bytes of an extension header, by its kind and its length field.
fn length(kind: u8, field: u8) -> usize {
    match kind {
        FRAGMENT => 8,
        AUTHENTICATION => (usize::from(field) + 2) * 4,
        _ => (usize::from(field) + 1) * 8,
    }
}

fn place(field: [u8; 2]) -> FragmentPlace {
    let word = u16::from_be_bytes(field);
    let (offset, more_follow) = (word >> 3, word & 1 != 0);
    match (offset, more_follow) {
        (0, false) => FragmentPlace::Whole,
        (0, true) => FragmentPlace::First,
        _ => FragmentPlace::Later,
    }
}
