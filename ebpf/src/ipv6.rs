//! IPv6: header, extension headers, fragments.

use sluice_ebpf_common::Malformed;

use crate::{
    flow::{Flow, Fragment},
    parse::{Frame, OFFSET_MASK, Step, Wire},
    transport,
};

const HEADER: usize = size_of::<Header>();
const MAX_EXTENSIONS: usize = 8;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) version_and_flow: [u8; 4],
    pub(crate) payload_length: u16,
    pub(crate) next: u8,
    pub(crate) hop_limit: u8,
    pub(crate) source: [u32; 4],
    pub(crate) destination: [u32; 4],
}

// SAFETY: integers only, and none of them leaves a gap.
unsafe impl Wire for Header {}

#[inline(always)]
pub(crate) fn parse<F: Frame>(frame: &F, offset: usize, flow: &mut Flow) -> Step {
    flow.l3_offset = Some(offset);
    let header = frame.read::<Header>(offset).ok_or(Malformed::Ipv6Truncated)?;
    if header.version_and_flow[0] >> 4 != 6 {
        return Err(Malformed::Ipv6BadVersion);
    }
    let payload = usize::from(u16::from_be(header.payload_length));
    // Length 0 before a hop-by-hop header is how a jumbogram begins. The host then takes all of the
    // frame, and does not insist on the jumbo option: without this a rule would miss what it delivers.
    let length = if payload == 0 && header.next == HOP_BY_HOP {
        frame.rest(offset).ok_or(Malformed::Ipv6PayloadLength)?
    } else {
        HEADER + payload
    };
    if !frame.holds(offset + length) {
        return Err(Malformed::Ipv6PayloadLength);
    }
    flow.ip_version = Some(6);
    flow.l3_length = Some(length);
    flow.source = Some(header.source);
    flow.destination = Some(header.destination);
    flow.fragment = Some(Fragment::None);
    extensions(frame, offset, length, header.next, flow)
}

/// Walks the extension headers. `at` and `length` count from the network header, so that the walk
/// ends with the payload, not with the frame.
#[inline(always)]
fn extensions<F: Frame>(frame: &F, l3: usize, length: usize, first: u8, flow: &mut Flow) -> Step {
    let mut next = first;
    let mut at = HEADER;
    let mut walked = 0;
    while is_extension(next) {
        if walked == MAX_EXTENSIONS {
            return Err(Malformed::Ipv6ExtensionDepth);
        }
        if at + 8 > length {
            return Err(Malformed::Ipv6ExtensionTruncated);
        }
        let header = frame.read::<Extension>(l3 + at).ok_or(Malformed::Ipv6ExtensionTruncated)?;
        // The mask changes nothing (no header begins behind it). It makes all ways through the loop look alike to
        // the verifier, which would otherwise follow each of them to the end.
        at = (at + header.length(next)) & OFFSET_MASK;
        if at > length {
            return Err(Malformed::Ipv6ExtensionTruncated);
        }
        if next == FRAGMENT {
            let word = u16::from_be(header.fragment);
            if word & 0xfff8 != 0 {
                flow.fragment = Some(Fragment::Later);
                // Behind another extension header the upper protocol stands in the first fragment only.
                if !is_extension(header.next) {
                    flow.protocol = Some(header.next);
                }
                return Ok(());
            }
            if word & 1 != 0 {
                flow.fragment = Some(Fragment::First);
            }
        }
        next = header.next;
        walked += 1;
    }
    flow.protocol = Some(next);
    transport::parse(frame, l3 + at, length - at, next, flow)
}

/// How every extension header begins. The last field is the fragment header's only.
#[repr(C)]
#[derive(Clone, Copy)]
struct Extension {
    next: u8,
    size: u8,
    fragment: u16,
}

// SAFETY: integers only, and none of them leaves a gap.
unsafe impl Wire for Extension {}

/// How the length of an extension header follows from its `size`: `((size & mask) + more) * unit`.
#[derive(Clone, Copy)]
struct Kind {
    mask: u8,
    more: u8,
    unit: u8,
}

/// By next-header value. A table, not branches: the verifier would follow every
/// sequence of kinds to the end, and loading would take seconds.
static KINDS: [Kind; 256] = {
    let mut kinds = [Kind { mask: 0xff, more: 1, unit: 8 }; 256];
    kinds[FRAGMENT as usize] = Kind { mask: 0, more: 1, unit: 8 };
    kinds[AUTHENTICATION as usize] = Kind { mask: 0xff, more: 2, unit: 4 };
    kinds
};

impl Extension {
    /// Bytes of this header, which is one of `kind`.
    #[inline(always)]
    fn length(self, kind: u8) -> usize {
        let Kind { mask, more, unit } = KINDS[usize::from(kind)];
        (usize::from(self.size & mask) + usize::from(more)) * usize::from(unit)
    }
}

#[inline(always)]
fn is_extension(next: u8) -> bool {
    matches!(next, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION_OPTIONS)
}
