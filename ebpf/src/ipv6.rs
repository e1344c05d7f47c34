//! IPv6: header, extension headers, fragments.

use sluice_ebpf_common::Malformed;

use crate::{
    flow::{Flow, Fragment},
    parse::{Frame, Step, be16},
    transport,
};

const HEADER: usize = 40;
const MAX_EXTENSIONS: usize = 8;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

#[inline(always)]
pub(crate) fn parse<F: Frame>(frame: &F, offset: usize, flow: &mut Flow) -> Step {
    flow.l3_offset = Some(offset);
    if !frame.holds(offset + HEADER) {
        return Err(Malformed::Ipv6Truncated);
    }
    if frame.read::<u8>(offset).ok_or(Malformed::Ipv6Truncated)? >> 4 != 6 {
        return Err(Malformed::Ipv6BadVersion);
    }
    let payload = usize::from(be16(frame, offset + 4).ok_or(Malformed::Ipv6Truncated)?);
    let next = frame.read::<u8>(offset + 6).ok_or(Malformed::Ipv6Truncated)?;
    // Length 0 before a hop-by-hop header is how a jumbogram begins. The host then takes all of the
    // frame, and does not insist on the jumbo option: without this a rule would miss what it delivers.
    let length = if payload == 0 && next == HOP_BY_HOP {
        frame.length() - offset
    } else {
        HEADER + payload
    };
    if !frame.holds(offset + length) {
        return Err(Malformed::Ipv6PayloadLength);
    }
    flow.ip_version = Some(6);
    flow.l3_length = Some(length);
    flow.source = Some(frame.read(offset + 8).ok_or(Malformed::Ipv6Truncated)?);
    flow.destination = Some(frame.read(offset + 24).ok_or(Malformed::Ipv6Truncated)?);
    flow.fragment = Some(Fragment::None);
    extensions(frame, offset, length, next, flow)
}

/// Walks the extension headers. `at` and `length` count from the network header, so that the walk
/// ends with the payload, not with the frame.
#[inline(always)]
fn extensions<F: Frame>(frame: &F, l3: usize, length: usize, first: u8, flow: &mut Flow) -> Step {
    let mut next = first;
    let mut at = HEADER;
    for _ in 0..=MAX_EXTENSIONS {
        if !is_extension(next) {
            flow.protocol = Some(next);
            return transport::parse(frame, l3 + at, length - at, next, flow);
        }
        if at + 8 > length {
            return Err(Malformed::Ipv6ExtensionTruncated);
        }
        let [following, size, high, low] = frame
            .read::<[u8; 4]>(l3 + at)
            .ok_or(Malformed::Ipv6ExtensionTruncated)?;
        at += match next {
            FRAGMENT => 8,
            AUTHENTICATION => (usize::from(size) + 2) * 4,
            _ => (usize::from(size) + 1) * 8,
        };
        if at > length {
            return Err(Malformed::Ipv6ExtensionTruncated);
        }
        if next == FRAGMENT {
            let word = u16::from_be_bytes([high, low]);
            if word & 0xfff8 != 0 {
                flow.fragment = Some(Fragment::Later);
                // Behind another extension header the upper protocol stands in the first fragment only.
                if !is_extension(following) {
                    flow.protocol = Some(following);
                }
                return Ok(());
            }
            if word & 1 != 0 {
                flow.fragment = Some(Fragment::First);
            }
        }
        next = following;
    }
    Err(Malformed::Ipv6ExtensionDepth)
}

#[inline(always)]
fn is_extension(next: u8) -> bool {
    matches!(
        next,
        HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION_OPTIONS
    )
}
