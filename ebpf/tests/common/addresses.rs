//! Prefixes that nest and adjoin, addresses at their bounds, and addresses as a flow has them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;

/// Prefixes out of small parts of the address space, so that they meet: any length, few different bits.
pub fn prefix() -> impl Strategy<Value = IpNet> {
    let bits_v4 = prop_oneof![
        (0..4_u32, 0..4_u32, 0..4_u32, 0..4_u32).prop_map(|(a, b, c, d)| a << 30 | b << 15 | c << 7 | d),
        any::<u32>(),
    ];
    let bits_v6 = prop_oneof![
        (0..4_u128, 0..4_u128, 0..4_u128, 0..4_u128)
            .prop_map(|(a, b, c, d)| a << 126 | b << 79 | c << 62 | d << 7),
        any::<u128>(),
    ];
    let length_v4 = prop_oneof![0..=32_u8, Just(32), Just(24), Just(16)];
    let length_v6 = prop_oneof![0..=128_u8, Just(128), Just(64), Just(32)];
    prop_oneof![
        (bits_v4, length_v4).prop_map(|(bits, length)| Ipv4Net::new_assert(
            Ipv4Addr::from_bits(bits),
            length
        )
        .trunc()
        .into()),
        (bits_v6, length_v6).prop_map(|(bits, length)| Ipv6Net::new_assert(
            Ipv6Addr::from_bits(bits),
            length
        )
        .trunc()
        .into()),
    ]
}

/// The first and the last address of a prefix, those beside it, and some that differ in one bit.
pub fn around(prefix: &IpNet) -> Vec<IpAddr> {
    match prefix {
        IpNet::V4(prefix) => {
            let [first, last] = [prefix.network(), prefix.broadcast()].map(Ipv4Addr::to_bits);
            let others = (0..32).step_by(5).map(|bit| first ^ 1 << bit);
            let bounds = [first, last, first.wrapping_sub(1), last.wrapping_add(1)];
            bounds.into_iter().chain(others).map(|bits| Ipv4Addr::from_bits(bits).into()).collect()
        }
        IpNet::V6(prefix) => {
            let [first, last] = [prefix.network(), prefix.broadcast()].map(Ipv6Addr::to_bits);
            let others = (0..128).step_by(11).map(|bit| first ^ 1 << bit);
            let bounds = [first, last, first.wrapping_sub(1), last.wrapping_add(1)];
            bounds.into_iter().chain(others).map(|bits| Ipv6Addr::from_bits(bits).into()).collect()
        }
    }
}

/// The IP version, and the address as the parser keeps it: in memory order, IPv4 in the first word.
pub fn words(address: IpAddr) -> (u8, [u32; 4]) {
    match address {
        IpAddr::V4(address) => (4, [u32::from_ne_bytes(address.octets()), 0, 0, 0]),
        IpAddr::V6(address) => {
            let octets = address.octets();
            let (words, _) = octets.as_chunks::<4>();
            (6, std::array::from_fn(|word| u32::from_ne_bytes(words[word])))
        }
    }
}

/// The way back.
pub fn address(version: Option<u8>, words: Option<[u32; 4]>) -> Option<IpAddr> {
    let octets = words?.map(u32::to_ne_bytes);
    match version? {
        4 => Some(Ipv4Addr::from(octets[0]).into()),
        _ => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets.as_flattened()).ok()?).into()),
    }
}
