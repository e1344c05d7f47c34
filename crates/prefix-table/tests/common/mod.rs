//! What the tests share: prefixes that nest and adjoin, addresses at their bounds, and tables of the wrong kind to compare with.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "this is test code")]

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;
use sluice_ebpf_common::prefixes::{
    Compare, Node, PAGE, SLOT_COMPARE, SLOT_KIND, SLOT_NODE, Slot, UNIT, live,
};
use sluice_prefix_table::live::Memory;
use sluice_prefix_table::{Layout, lookup};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

pub fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Prefixes out of a small part of the address space, so that they meet: any length, few different bits.
pub fn prefix() -> impl Strategy<Value = IpNet> {
    let few_bits_4 = prop_oneof![
        (0..4_u32, 0..4_u32, 0..4_u32, 0..4_u32).prop_map(|(a, b, c, d)| a << 30 | b << 15 | c << 7 | d),
        (0..3_u32, 0..600_u32).prop_map(|(a, b)| 0x0a01_0000 + (a << 16) + b),
        any::<u32>(),
    ];
    let few_bits_6 = prop_oneof![
        (0..4_u128, 0..4_u128, 0..4_u128, 0..4_u128)
            .prop_map(|(a, b, c, d)| a << 126 | b << 79 | c << 62 | d << 7),
        (0..3_u128, 0..600_u128).prop_map(|(a, b)| 0x2001_0db8_u128 << 96 | a << 64 | b),
        any::<u128>(),
    ];
    let length_4 = prop_oneof![0..=32_u8, Just(32), Just(24), Just(16)];
    let length_6 = prop_oneof![0..=128_u8, Just(128), Just(64), Just(32)];
    prop_oneof![
        (few_bits_4, length_4).prop_map(|(bits, length)| v4(bits, length)),
        (few_bits_6, length_6).prop_map(|(bits, length)| v6(bits, length)),
    ]
}

pub fn v4(bits: u32, length: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new(Ipv4Addr::from_bits(bits), length).unwrap().trunc())
}

pub fn v6(bits: u128, length: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new(Ipv6Addr::from_bits(bits), length).unwrap().trunc())
}

/// Addresses at and around the bounds of a prefix, of both families.
pub fn around(prefix: &IpNet) -> Vec<IpAddr> {
    match prefix {
        IpNet::V4(prefix) => {
            let [first, last] = [prefix.network().to_bits(), prefix.broadcast().to_bits()];
            let middle = first + (last - first) / 2;
            [first, last, middle, first.wrapping_sub(1), last.wrapping_add(1), first ^ 0x100, last ^ 0x1_0000]
                .map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))
                .to_vec()
        }
        IpNet::V6(prefix) => {
            let [first, last] = [prefix.network().to_bits(), prefix.broadcast().to_bits()];
            let middle = first + (last - first) / 2;
            let other = [0, 8, 16, 60, 64, 100].map(|bit| first ^ 1 << bit);
            [first, last, middle, first.wrapping_sub(1), last.wrapping_add(1)]
                .into_iter()
                .chain(other)
                .map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)))
                .collect()
        }
    }
}

/// Numbers that are the same in every run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn next_u128(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    #[allow(clippy::cast_possible_truncation, reason = "any 32 bits will do")]
    pub fn next_u32(&mut self) -> u32 {
        self.next() as u32
    }
}

/// The memory of a live table.
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn new(pages: usize) -> Self {
        Self(vec![0; pages * PAGE])
    }

    /// The lists of an address, as a packet finds them.
    pub fn mask(&self, address: IpAddr) -> u64 {
        let class = lookup(&self.0, Layout::Live { version: self.load_u64(live::STATE) }, address);
        self.load_u64(live::CLASSES + usize::from(class) * 8)
    }
}

impl Memory for Bytes {
    fn load_u64(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.0[offset..offset + 8].try_into().unwrap())
    }

    fn store_u64(&mut self, offset: usize, value: u64) {
        self.0[offset..offset + 8].copy_from_slice(&value.to_ne_bytes());
    }
}

/// Units of all nodes that a version refers to, each as often as it is part of one.
pub fn units(memory: &Bytes, version: u64) -> Vec<usize> {
    let mut units = Vec::new();
    for at in (live::ROOT_V4..live::CLASSES).step_by(8) {
        add_units(
            memory,
            u32::try_from(memory.load_u64(at) >> (32 * version) & u64::from(u32::MAX)).unwrap(),
            &mut units,
        );
    }
    units
}

fn add_units(memory: &Bytes, slot: Slot, units: &mut Vec<usize>) {
    let first = (slot & !SLOT_KIND) as usize;
    let word = |index: usize| memory.load_u64(first * UNIT + index * 8);
    let bytes = match slot & SLOT_KIND {
        SLOT_COMPARE => size_of::<Compare>(),
        SLOT_NODE => {
            let exceptions = (0..4).map(|index| word(index).count_ones() as usize).sum::<usize>();
            for at in (36..40 + exceptions * 4).step_by(4) {
                let at = first * UNIT + at;
                add_units(memory, u32::from_ne_bytes(memory.0[at..at + 4].try_into().unwrap()), units);
            }
            size_of::<Node>() + exceptions * 4
        }
        _ => return,
    };
    assert_eq!(first * UNIT / PAGE, (first * UNIT + bytes - 1) / PAGE, "a node crosses a page");
    units.extend(first..first + bytes.div_ceil(UNIT));
}

/// What this thread runs for to do something: other work on the machine does not count.
pub fn timed<R>(work: impl FnOnce() -> R) -> (std::time::Duration, R) {
    let start = on_cpu();
    let result = work();
    (on_cpu().saturating_sub(start), result)
}

fn on_cpu() -> std::time::Duration {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    std::time::Duration::from_nanos(status.split_whitespace().next().unwrap().parse().unwrap())
}
