//! IPv4: header with options, length, fragments.

use sluice_ebpf_common::Malformed;

use crate::{
    flow::{Flow, Fragment},
    parse::{Frame, Step, Wire},
    transport,
};

const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) version_and_length: u8,
    pub(crate) type_of_service: u8,
    pub(crate) total_length: u16,
    pub(crate) identification: u16,
    pub(crate) fragment: u16,
    pub(crate) time_to_live: u8,
    pub(crate) protocol: u8,
    pub(crate) checksum: u16,
    pub(crate) source: u32,
    pub(crate) destination: u32,
}

// SAFETY: integers only, and none of them leaves a gap.
unsafe impl Wire for Header {}

#[inline(always)]
pub(crate) fn parse<F: Frame>(frame: &F, offset: usize, flow: &mut Flow) -> Step {
    flow.l3_offset = Some(offset);
    let header = frame.read::<Header>(offset).ok_or(Malformed::Ipv4Truncated)?;
    if header.version_and_length >> 4 != 4 {
        return Err(Malformed::Ipv4BadVersion);
    }
    let header_length = usize::from(header.version_and_length & 0xf) * 4;
    if header_length < size_of::<Header>() {
        return Err(Malformed::Ipv4HeaderLength);
    }
    let length = match u16::from_be(header.total_length) {
        0 => big_length(frame, offset)?,
        length => usize::from(length),
    };
    if length < header_length || !frame.holds(offset + length) {
        // Where the options end behind the frame, that is the first damage.
        let options = frame.holds(offset + header_length);
        return Err(if options { Malformed::Ipv4TotalLength } else { Malformed::Ipv4OptionsTruncated });
    }
    flow.ip_version = Some(4);
    flow.l3_length = Some(length);
    flow.source = Some([header.source, 0, 0, 0]);
    flow.destination = Some([header.destination, 0, 0, 0]);
    flow.protocol = Some(header.protocol);
    let fragment = fragment(u16::from_be(header.fragment));
    flow.fragment = Some(fragment);
    if fragment == Fragment::Later {
        return Ok(());
    }
    transport::parse(frame, offset + header_length, length - header_length, header.protocol, flow)
}

/// A packet that the host put together from many has no room for its length, and says 0 (`iph_totlen` in
/// the kernel's `linux/ip.h`). Only generic mode sees those.
#[inline(always)]
fn big_length<F: Frame>(frame: &F, offset: usize) -> Result<usize, Malformed> {
    let is_big = |length: &usize| *length > usize::from(u16::MAX);
    frame.rest(offset).filter(is_big).ok_or(Malformed::Ipv4TotalLength)
}

#[inline(always)]
fn fragment(word: u16) -> Fragment {
    if word & FRAGMENT_OFFSET != 0 {
        Fragment::Later
    } else if word & MORE_FRAGMENTS != 0 {
        Fragment::First
    } else {
        Fragment::None
    }
}
