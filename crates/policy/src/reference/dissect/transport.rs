//! TCP, UDP, SCTP, ICMP and ICMPv6. Anything else is known by its number only.

use sluice_ebpf_common::Malformed;

use super::Cursor;
use crate::IpVersion;
use crate::reference::{FragmentPlace, Packet};

/// Reads the transport header at the cursor, which ends where the IP packet does.
pub(super) fn read(cursor: &Cursor<'_>, protocol: u8, packet: &mut Packet) -> Result<(), Malformed> {
    packet.l4_offset = Some(cursor.at());
    match protocol {
        1 | 58 => icmp(cursor, packet),
        6 => tcp(cursor, packet),
        17 => udp(cursor, packet),
        132 => sctp(cursor, packet),
        _ => Ok(()),
    }
}

/// The three protocols that have ports begin with them. A header that is cut behind its ports still has them.
fn ports(cursor: &Cursor<'_>, packet: &mut Packet) {
    if let Some([a, b, c, d]) = cursor.peek::<4>() {
        packet.source_port = Some(u16::from_be_bytes([a, b]));
        packet.destination_port = Some(u16::from_be_bytes([c, d]));
    }
}

fn tcp(cursor: &Cursor<'_>, packet: &mut Packet) -> Result<(), Malformed> {
    ports(cursor, packet);
    let header = cursor.peek::<20>().ok_or(Malformed::L4Truncated)?;
    let header_length = usize::from(header[12] >> 4) * 4;
    if header_length < 20 {
        return Err(Malformed::TcpDataOffset);
    }
    // The options of a first fragment may go on in the next one.
    if header_length > cursor.left() && is_whole(packet) {
        return Err(Malformed::TcpDataOffset);
    }
    packet.tcp_flags = Some(header[13]);
    Ok(())
}

fn udp(cursor: &Cursor<'_>, packet: &mut Packet) -> Result<(), Malformed> {
    ports(cursor, packet);
    let header = cursor.peek::<8>().ok_or(Malformed::L4Truncated)?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    // Over IPv6 a length of 0 means "to the end of the packet" (RFC 2675).
    if length == 0 && packet.ip_version == Some(IpVersion::V6) {
        return Ok(());
    }
    if length < 8 {
        return Err(Malformed::UdpLength);
    }
    // The length is that of the whole datagram, of which a first fragment holds a part.
    if length > cursor.left() && is_whole(packet) {
        return Err(Malformed::UdpLength);
    }
    Ok(())
}

fn sctp(cursor: &Cursor<'_>, packet: &mut Packet) -> Result<(), Malformed> {
    ports(cursor, packet);
    cursor.peek::<12>().map(drop).ok_or(Malformed::L4Truncated)
}

/// Type and code count only in a whole header: a message that is cut in it is nothing that the host takes, and
/// must not pass for neighbour discovery.
fn icmp(cursor: &Cursor<'_>, packet: &mut Packet) -> Result<(), Malformed> {
    let header = cursor.peek::<8>().ok_or(Malformed::L4Truncated)?;
    packet.icmp = Some((header[0], header[1]));
    Ok(())
}

fn is_whole(packet: &Packet) -> bool {
    packet.fragment == Some(FragmentPlace::Whole)
}
