//! The class of an address, straight from the bytes: step by step what the packet path does.

use crate::prefix::key;
use sluice_ebpf_common::prefixes::{SLOT_CLASS, SLOT_KIND, SLOT_NODE, SLOT_OCTET, Slot, UNIT, fixed, live};
use std::net::IpAddr;

/// Which of the two layouts memory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A table that never changes.
    Fixed,
    /// The table of address sets, and the version to look at: 0 or 1.
    Live {
        /// What `state.version` says.
        version: u64,
    },
}

/// The class of an address; 0 if no prefix holds it. What lies outside of memory reads as 0.
#[must_use]
pub fn lookup(memory: &[u8], layout: Layout, address: IpAddr) -> u16 {
    let key = key(address);
    let mut slot = root_slot(memory, layout, address);
    // Bits of the address that are used up.
    let mut bits = 16;
    while bits < 128 {
        let octet = (key << bits).to_be_bytes()[0];
        match slot & SLOT_KIND {
            SLOT_CLASS => break,
            SLOT_NODE => slot = step(memory, (slot & !SLOT_KIND) as usize * UNIT, octet),
            SLOT_OCTET => return octet_class(slot, octet),
            _ => return compare(memory, (slot & !SLOT_KIND) as usize * UNIT, key),
        }
        bits += 8;
    }
    low_half(slot)
}

fn root_slot(memory: &[u8], layout: Layout, address: IpAddr) -> Slot {
    let index =
        usize::from(u16::from_be_bytes([key(address).to_be_bytes()[0], key(address).to_be_bytes()[1]]));
    let v4 = address.is_ipv4();
    match layout {
        Layout::Fixed => {
            let root = if v4 { fixed::ROOT_V4 } else { fixed::ROOT_V6 };
            u32::from_ne_bytes(read(memory, root + index * 4))
        }
        Layout::Live { version } => {
            let root = if v4 { live::ROOT_V4 } else { live::ROOT_V6 };
            let pair = u64::from_ne_bytes(read(memory, root + index * 8));
            // The cast takes the half that is left.
            #[allow(clippy::cast_possible_truncation)]
            let half = (pair >> (32 * (version & 1))) as u32;
            half
        }
    }
}

fn step(memory: &[u8], node: usize, octet: u8) -> Slot {
    let word = usize::from(octet / 64);
    let exceptions = u64::from_ne_bytes(read(memory, node + word * 8));
    let bit = 1_u64 << (octet % 64);
    if exceptions & bit == 0 {
        return u32::from_ne_bytes(read(memory, node + 36));
    }
    let [before] = read(memory, node + 32 + word);
    let rank = usize::from(before) + (exceptions & (bit - 1)).count_ones() as usize;
    u32::from_ne_bytes(read(memory, node + 40 + rank * 4))
}

fn octet_class(slot: Slot, octet: u8) -> u16 {
    let class = if (slot >> 22) & 0xff == u32::from(octet) { slot >> 11 } else { slot };
    low_half(class & 0x7ff)
}

fn compare(memory: &[u8], node: usize, key: u128) -> u16 {
    let half = |at| u128::from(u64::from_ne_bytes(read(memory, at)));
    let differing = key ^ (half(node) << 64 | half(node + 8));
    let length = u32::from_ne_bytes(read(memory, node + 20));
    let class = if differing.leading_zeros() >= length { node + 16 } else { node + 18 };
    u16::from_ne_bytes(read(memory, class))
}

fn low_half(slot: Slot) -> u16 {
    let [_, _, a, b] = slot.to_be_bytes();
    u16::from_be_bytes([a, b])
}

fn read<const N: usize>(memory: &[u8], at: usize) -> [u8; N] {
    memory.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}
