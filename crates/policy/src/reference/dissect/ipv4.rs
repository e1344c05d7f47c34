//! IPv4: header with options, length, fragments.

use std::net::Ipv4Addr;

use sluice_ebpf_common::Malformed;

use super::Cursor;
use super::transport;
use crate::IpVersion;
use crate::reference::{FragmentPlace, Packet};

const LEAST_HEADER: usize = 20;
const LARGEST_LENGTH: usize = 0xffff;

pub(super) fn read(cursor: &mut Cursor<'_>, packet: &mut Packet) -> Result<(), Malformed> {
    packet.l3_offset = Some(cursor.at());
    let header = cursor.peek::<LEAST_HEADER>().ok_or(Malformed::Ipv4Truncated)?;
    if header[0] >> 4 != 4 {
        return Err(Malformed::Ipv4BadVersion);
    }
    let header_length = usize::from(header[0] & 0x0f) * 4;
    if header_length < LEAST_HEADER {
        return Err(Malformed::Ipv4HeaderLength);
    }
    let length = total_length([header[2], header[3]], cursor.left()).ok_or(Malformed::Ipv4TotalLength)?;
    // Where the options end behind the frame, that is the first damage.
    if header_length > cursor.left() {
        return Err(Malformed::Ipv4OptionsTruncated);
    }
    if length < header_length {
        return Err(Malformed::Ipv4TotalLength);
    }
    cursor.end_after(length).ok_or(Malformed::Ipv4TotalLength)?;
    cursor.skip(header_length).ok_or(Malformed::Ipv4TotalLength)?;

    packet.ip_version = Some(IpVersion::V4);
    packet.l3_length = Some(length);
    packet.source = Some(Ipv4Addr::new(header[12], header[13], header[14], header[15]).into());
    packet.destination = Some(Ipv4Addr::new(header[16], header[17], header[18], header[19]).into());
    packet.protocol = Some(header[9]);
    packet.fragment = Some(place([header[6], header[7]]));
    if packet.fragment == Some(FragmentPlace::Later) {
        return Ok(());
    }
    transport::read(cursor, header[9], packet)
}

/// A packet that the host put together from many has no room for its length, says 0, and is all there is. Any
/// other packet that says 0 is damaged.
fn total_length(field: [u8; 2], left: usize) -> Option<usize> {
    match u16::from_be_bytes(field) {
        0 if left > LARGEST_LENGTH => Some(left),
        0 => None,
        length => Some(usize::from(length)),
    }
}

fn place(field: [u8; 2]) -> FragmentPlace {
    let word = u16::from_be_bytes(field);
    let (offset, more_follow) = (word & 0x1fff, word & 0x2000 != 0);
    match (offset, more_follow) {
        (0, false) => FragmentPlace::Whole,
        (0, true) => FragmentPlace::First,
        _ => FragmentPlace::Later,
    }
}
