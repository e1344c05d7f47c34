//! The parser: one header a step, each through the one bounds-checking [`Frame::read`]. It is never
//! stricter than the host on packets that the host would deliver, and never guesses behind damage. Two
//! things the host follows further: more tags ([`Malformed::VlanDepth`]) and more extension headers
//! ([`Malformed::Ipv6ExtensionDepth`]). These are counted apart, and whoever shows counters warns of them.

use sluice_ebpf_common::{Malformed, tables::frame};

use crate::{
    flow::{ETHER_TYPE_IPV4, ETHER_TYPE_IPV6, Flow},
    ipv4, ipv6,
};

/// A step's result: an error is the place of the damage.
pub(crate) type Step = Result<(), Malformed>;

/// No header begins behind this: 46 bytes of Ethernet and tags, 40 of IPv6, eight extension headers of at
/// most 2048 bytes. The largest offset that the verifier takes for packet access is 0xffff
/// (`MAX_PACKET_OFF` in the kernel's `kernel/bpf/verifier.c`).
pub(crate) const OFFSET_MASK: usize = 0x7fff;

/// The most that stands behind a packet to make a frame of the least size.
pub const PADDING: usize = 46;

pub(crate) const ETHERNET_HEADER: usize = 14;
const VLAN_TAG: usize = 4;
const ETHER_TYPE_ARP: u16 = 0x0806;
const ETHER_TYPE_8021Q: u16 = 0x8100;
const ETHER_TYPE_8021AD: u16 = 0x88a8;
/// The host knows no bound, but the verifier wants one.
const MAX_TAGS: usize = 8;
const MAX_TAGS_WITH_ID: usize = 2;

/// Integers and arrays of them: every bit pattern is a value, so reading one from packet bytes is
/// sound.
///
/// # Safety
/// Implemented only for types without padding and without invalid bit patterns.
pub unsafe trait Wire: Copy {}
// SAFETY: every bit pattern is a value of these types.
unsafe impl Wire for u8 {}
// SAFETY: as above.
unsafe impl Wire for u16 {}
// SAFETY: as above.
unsafe impl Wire for u32 {}
// SAFETY: as above.
unsafe impl Wire for u64 {}
// SAFETY: as above, and arrays have no padding.
unsafe impl<T: Wire, const N: usize> Wire for [T; N] {}

/// A frame that can be read at any offset.
pub trait Frame {
    /// The value at `offset` bytes from the start, in memory order; `None` if it is not (wholly) there.
    fn read<T: Wire>(&self, offset: usize) -> Option<T>;
    /// Whether the frame has `end` bytes or more.
    fn holds(&self, end: usize) -> bool;
    /// Bytes from `offset` to the end of the frame; `None` if they are not known.
    fn rest(&self, offset: usize) -> Option<usize>;
}

/// Big-endian 16 bits at `offset`.
#[inline(always)]
fn be16<F: Frame>(frame: &F, offset: usize) -> Option<u16> {
    frame.read::<u16>(offset).map(u16::from_be)
}

/// Parses `frame` as far as it goes.
#[inline(always)]
pub fn parse<F: Frame>(frame: &F) -> Flow {
    let mut flow = Flow::UNKNOWN;
    parse_into(frame, &mut flow);
    flow
}

/// Parses `frame` into a flow that stays where it is: put together in registers it would fill the stack.
#[inline(always)]
pub fn parse_into<F: Frame>(frame: &F, flow: &mut Flow) {
    *flow = Flow::UNKNOWN;
    if let Err(reason) = ethernet(frame, flow) {
        flow.malformed = Some(reason);
    }
}

#[inline(always)]
fn ethernet<F: Frame>(frame: &F, flow: &mut Flow) -> Step {
    let ether_type = be16(frame, ETHERNET_HEADER - 2).ok_or(Malformed::FrameTooShort)?;
    flow.ether_type = Some(ether_type);
    if is_tag(ether_type) {
        return tagged(frame, flow);
    }
    // Untagged frames have code of their own, in which the offset is a constant.
    network(frame, ETHERNET_HEADER, ether_type, flow)
}

#[inline(always)]
fn is_tag(ether_type: u16) -> bool {
    ether_type == ETHER_TYPE_8021Q || ether_type == ETHER_TYPE_8021AD
}

/// Looks through two tags with a VLAN id, and through priority tags (id 0), of which the host takes off
/// any number without a VLAN device.
#[inline(always)]
fn tagged<F: Frame>(frame: &F, flow: &mut Flow) -> Step {
    let mut offset = ETHERNET_HEADER;
    let mut with_id = 0;
    for tag in 0..MAX_TAGS {
        let [control, inner] = frame.read::<[u16; 2]>(offset).ok_or(Malformed::VlanTruncated)?;
        let id = u16::from_be(control) & 0x0fff;
        if id != 0 {
            with_id += 1;
        }
        if with_id > MAX_TAGS_WITH_ID {
            break;
        }
        if tag < flow.vlans.len() {
            flow.vlans[tag] = Some(id);
        }
        let ether_type = u16::from_be(inner);
        flow.ether_type = Some(ether_type);
        offset += VLAN_TAG;
        if !is_tag(ether_type) {
            return network(frame, offset, ether_type, flow);
        }
    }
    Err(Malformed::VlanDepth)
}

#[inline(always)]
fn network<F: Frame>(frame: &F, offset: usize, ether_type: u16, flow: &mut Flow) -> Step {
    match ether_type {
        ETHER_TYPE_IPV4 => ipv4::parse(frame, offset, flow),
        ETHER_TYPE_IPV6 => ipv6::parse(frame, offset, flow),
        _ => {
            flow.other = other(frame, ether_type);
            Ok(())
        }
    }
}

/// What a frame without an IP packet is.
#[inline(always)]
fn other<F: Frame>(frame: &F, ether_type: u16) -> u8 {
    // 01:80:c2:00:00:00 to 0f, which bridges do not forward (IEEE 802.1Q, table 8-1).
    let is_link_control = |[high, middle, low]: [u16; 3]| {
        (u16::from_be(high), u16::from_be(middle), u16::from_be(low) & 0xfff0) == (0x0180, 0xc200, 0)
    };
    if ether_type == ETHER_TYPE_ARP {
        frame::ARP
    } else if frame.read::<[u16; 3]>(0).is_some_and(is_link_control) {
        frame::LINK_CONTROL
    } else {
        frame::OTHER
    }
}
