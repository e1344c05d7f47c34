//! TCP, UDP, SCTP, ICMP and ICMPv6. Anything else is known by its number only.

use sluice_ebpf_common::Malformed;

use crate::{
    flow::{Flow, Fragment},
    parse::{Frame, Step, be16},
};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;

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
    match protocol {
        TCP | UDP | SCTP => {
            ports(frame, offset, length, flow)?;
            match protocol {
                TCP => tcp(frame, offset, length, flow),
                UDP => udp(frame, offset, length, flow),
                _ => at_least(length, 12),
            }
        }
        ICMP | ICMPV6 => icmp(frame, offset, length, flow),
        _ => Ok(()),
    }
}

#[inline(always)]
fn at_least(length: usize, header: usize) -> Step {
    if length < header {
        Err(Malformed::L4Truncated)
    } else {
        Ok(())
    }
}

#[inline(always)]
fn ports<F: Frame>(frame: &F, offset: usize, length: usize, flow: &mut Flow) -> Step {
    at_least(length, 4)?;
    let [source, destination] = frame.read::<[u16; 2]>(offset).ok_or(Malformed::L4Truncated)?;
    flow.source_port = Some(u16::from_be(source));
    flow.destination_port = Some(u16::from_be(destination));
    Ok(())
}

#[inline(always)]
fn tcp<F: Frame>(frame: &F, offset: usize, length: usize, flow: &mut Flow) -> Step {
    at_least(length, 20)?;
    let [data_offset, flags] = frame.read::<[u8; 2]>(offset + 12).ok_or(Malformed::L4Truncated)?;
    let header = usize::from(data_offset >> 4) * 4;
    // The options of a first fragment may go on in the next one: the host puts them together first.
    let whole = flow.fragment == Some(Fragment::None);
    if header < 20 || (whole && header > length) {
        return Err(Malformed::TcpDataOffset);
    }
    flow.tcp_flags = Some(flags);
    Ok(())
}

#[inline(always)]
fn udp<F: Frame>(frame: &F, offset: usize, length: usize, flow: &mut Flow) -> Step {
    at_least(length, 8)?;
    let udp_length = usize::from(be16(frame, offset + 4).ok_or(Malformed::L4Truncated)?);
    // Over IPv6 a length of 0 means "to the end of the packet" (RFC 2675), and the host takes it.
    if udp_length == 0 && flow.ip_version == Some(6) {
        return Ok(());
    }
    // The length is that of the whole datagram, of which a first fragment holds a part.
    let whole = flow.fragment == Some(Fragment::None);
    if udp_length < 8 || (whole && udp_length > length) {
        return Err(Malformed::UdpLength);
    }
    Ok(())
}

#[inline(always)]
fn icmp<F: Frame>(frame: &F, offset: usize, length: usize, flow: &mut Flow) -> Step {
    at_least(length, 2)?;
    flow.icmp = Some(frame.read::<[u8; 2]>(offset).ok_or(Malformed::L4Truncated)?);
    at_least(length, 8)
}
