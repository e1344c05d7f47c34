//! Bytes of a frame to what rules can read, step by step with a cursor. Damage ends the walk with a reason, and
//! what lies behind it stays unknown. It is never stricter than the host, and shares no code with the parser
//! in `ebpf`.

mod cursor;
mod ipv4;
mod ipv6;
mod transport;

use sluice_ebpf_common::Malformed;

use self::cursor::Cursor;
use super::Packet;
use super::packet::{ETHER_TYPE_IPV4, ETHER_TYPE_IPV6, is_tag};

/// Tags that are looked through.
const MOST_TAGS: usize = 8;
/// Of these, tags that name a VLAN: any number of priority tags is taken off by the host.
const MOST_VLANS: usize = 2;

/// Reads a whole frame, from the destination MAC address on, without frame check sequence.
#[must_use]
pub fn dissect(frame: &[u8]) -> Packet {
    let mut packet = Packet { frame_length: frame.len(), ..Packet::default() };
    packet.malformed = ethernet(&mut Cursor::new(frame), &mut packet).err();
    packet
}

fn ethernet(cursor: &mut Cursor<'_>, packet: &mut Packet) -> Result<(), Malformed> {
    let header = cursor.take::<14>().ok_or(Malformed::FrameTooShort)?;
    #[allow(clippy::many_single_char_names, reason = "six bytes of a MAC address")]
    let [a, b, c, d, e, f, ..] = header;
    packet.destination_mac = Some([a, b, c, d, e, f]);
    let mut ether_type = u16::from_be_bytes([header[12], header[13]]);
    packet.ether_type = Some(ether_type);
    while is_tag(ether_type) {
        ether_type = tag(cursor, packet)?;
        packet.ether_type = Some(ether_type);
    }
    match ether_type {
        ETHER_TYPE_IPV4 => ipv4::read(cursor, packet),
        ETHER_TYPE_IPV6 => ipv6::read(cursor, packet),
        _ => Ok(()),
    }
}

/// Reads one tag and returns the type that stands behind it.
fn tag(cursor: &mut Cursor<'_>, packet: &mut Packet) -> Result<u16, Malformed> {
    if packet.vlans.len() == MOST_TAGS {
        return Err(Malformed::VlanDepth);
    }
    let [high, low, inner @ ..] = cursor.take::<4>().ok_or(Malformed::VlanTruncated)?;
    // The upper four bits are priority and drop eligibility.
    let id = u16::from_be_bytes([high, low]) & 0x0fff;
    let vlans_before = packet.vlans.iter().filter(|id| **id != 0).count();
    if id != 0 && vlans_before == MOST_VLANS {
        return Err(Malformed::VlanDepth);
    }
    packet.vlans.push(id);
    Ok(u16::from_be_bytes(inner))
}
