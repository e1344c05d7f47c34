//! IPv4: header with options, length, fragments.

use sluice_ebpf_common::Malformed;

use crate::{
    flow::{Flow, Fragment},
    parse::{Frame, Step, be16},
    transport,
};

const HEADER: usize = 20;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

#[inline(always)]
pub(crate) fn parse<F: Frame>(frame: &F, offset: usize, flow: &mut Flow) -> Step {
    flow.l3_offset = Some(offset);
    if !frame.holds(offset + HEADER) {
        return Err(Malformed::Ipv4Truncated);
    }
    let first = frame.read::<u8>(offset).ok_or(Malformed::Ipv4Truncated)?;
    if first >> 4 != 4 {
        return Err(Malformed::Ipv4BadVersion);
    }
    let header = usize::from(first & 0xf) * 4;
    if header < HEADER {
        return Err(Malformed::Ipv4HeaderLength);
    }
    if header > HEADER && !frame.holds(offset + header) {
        return Err(Malformed::Ipv4OptionsTruncated);
    }
    let length = usize::from(be16(frame, offset + 2).ok_or(Malformed::Ipv4Truncated)?);
    if length < header || !frame.holds(offset + length) {
        return Err(Malformed::Ipv4TotalLength);
    }
    flow.ip_version = Some(4);
    flow.l3_length = Some(length);
    addresses(frame, offset, flow)?;
    let protocol = frame.read::<u8>(offset + 9).ok_or(Malformed::Ipv4Truncated)?;
    flow.protocol = Some(protocol);
    let word = be16(frame, offset + 6).ok_or(Malformed::Ipv4Truncated)?;
    let fragment = if word & FRAGMENT_OFFSET != 0 {
        Fragment::Later
    } else if word & MORE_FRAGMENTS != 0 {
        Fragment::First
    } else {
        Fragment::None
    };
    flow.fragment = Some(fragment);
    if fragment == Fragment::Later {
        return Ok(());
    }
    transport::parse(frame, offset + header, length - header, protocol, flow)
}

#[inline(always)]
fn addresses<F: Frame>(frame: &F, offset: usize, flow: &mut Flow) -> Step {
    let [source, destination] = frame
        .read::<[u32; 2]>(offset + 12)
        .ok_or(Malformed::Ipv4Truncated)?;
    flow.source = Some([source, 0, 0, 0]);
    flow.destination = Some([destination, 0, 0, 0]);
    Ok(())
}
