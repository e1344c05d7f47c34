//! What the tests share: prefixes that nest and adjoin, addresses at their bounds, and tables of the wrong kind to compare with.
#![allow(dead_code, reason = "each test file uses a part")]

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;
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
