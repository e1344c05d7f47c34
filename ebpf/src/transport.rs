//! TCP, UDP, SCTP, ICMP and ICMPv6. Anything else is known by its number only.

use sluice_ebpf_common::Malformed;

use crate::{
    flow::{Flow, Fragment},
    parse::{Frame, Step, Wire},
};

const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;

/// Source and destination, as all three protocols begin.
pub(crate) type Ports = [u16; 2];

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct TcpHeader {
    pub(crate) ports: Ports,
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) data_offset: u8,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) checksum: u16,
    pub(crate) urgent: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UdpHeader {
    pub(crate) ports: Ports,
    pub(crate) length: u16,
    pub(crate) checksum: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct SctpHeader {
    ports: Ports,
    verification_tag: u32,
    checksum: u32,
}

// SAFETY: integers only, and none of them leaves a gap.
unsafe impl Wire for TcpHeader {}
// SAFETY: as above.
unsafe impl Wire for UdpHeader {}
// SAFETY: as above.
unsafe impl Wire for SctpHeader {}

/// Parses what stands at `offset`, of which the packet has `length` bytes.
#[inline(always)]
pub(crate) fn parse<F: Frame>(
    frame: &F,
    offset: usize,
    length: usize,
    protocol: u8,
    flow: &mut Flow,
) -> Step {
    flow.l4_offset = Some(offset);
    let result = match protocol {
        UDP => udp(frame, offset, length, flow),
        TCP => tcp(frame, offset, length, flow),
        SCTP => sctp(frame, offset, length, flow),
        ICMP | ICMPV6 => return icmp(frame, offset, length, flow),
        _ => return Ok(()),
    };
    // A cut header may still have its ports, and then they count.
    if result == Err(Malformed::L4Truncated)
        && let Some(ports) = header(frame, offset, length)
    {
        set_ports(ports, flow);
    }
    result
}

/// The header at `offset`, if it lies inside the packet.
#[inline(always)]
fn header<F: Frame, T: Wire>(frame: &F, offset: usize, length: usize) -> Option<T> {
    if length < size_of::<T>() { None } else { frame.read(offset) }
}

#[inline(always)]
fn set_ports([source, destination]: Ports, flow: &mut Flow) {
    flow.source_port = Some(u16::from_be(source));
    flow.destination_port = Some(u16::from_be(destination));
}

#[inline(always)]
fn tcp<F: Frame>(frame: &F, offset: usize, length: usize, flow: &mut Flow) -> Step {
    let header: TcpHeader = header(frame, offset, length).ok_or(Malformed::L4Truncated)?;
    set_ports(header.ports, flow);
    let header_length = usize::from(header.data_offset >> 4) * 4;
    // The options of a first fragment may go on in the next one: the host puts them together first.
    if header_length < size_of::<TcpHeader>() {
        return Err(Malformed::TcpDataOffset);
    }
    if header_length > length && flow.fragment == Some(Fragment::None) {
        return Err(Malformed::TcpDataOffset);
    }
    flow.tcp_flags = Some(header.flags);
    Ok(())
}

#[inline(always)]
fn udp<F: Frame>(frame: &F, offset: usize, length: usize, flow: &mut Flow) -> Step {
    let header: UdpHeader = header(frame, offset, length).ok_or(Malformed::L4Truncated)?;
    set_ports(header.ports, flow);
    let udp_length = usize::from(u16::from_be(header.length));
    // Over IPv6 a length of 0 means "to the end of the packet" (RFC 2675), and the host takes it.
    if udp_length == 0 && flow.ip_version == Some(6) {
        return Ok(());
    }
    // The length is that of the whole datagram, of which a first fragment holds a part.
    if udp_length < size_of::<UdpHeader>() {
        return Err(Malformed::UdpLength);
    }
    if udp_length > length && flow.fragment == Some(Fragment::None) {
        return Err(Malformed::UdpLength);
    }
    Ok(())
}

#[inline(always)]
fn sctp<F: Frame>(frame: &F, offset: usize, length: usize, flow: &mut Flow) -> Step {
    let header: SctpHeader = header(frame, offset, length).ok_or(Malformed::L4Truncated)?;
    set_ports(header.ports, flow);
    Ok(())
}

/// Type and code count only in a whole header. The host takes no message that is cut in it, and a rule that
/// passes neighbour discovery must not take four bytes for it.
#[inline(always)]
fn icmp<F: Frame>(frame: &F, offset: usize, length: usize, flow: &mut Flow) -> Step {
    let [kind, code, ..]: [u8; 8] = header(frame, offset, length).ok_or(Malformed::L4Truncated)?;
    flow.icmp = Some([kind, code]);
    Ok(())
}
