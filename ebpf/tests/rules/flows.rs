//! Flows as the parser makes them: of IP packets with all that may be known of one, and of other frames.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::{collection::vec, option, prelude::*, sample::select};
use sluice_ebpf::flow::{Flow, Fragment};
use sluice_ebpf_common::tables::frame;

use crate::common::addresses::{around, prefix, words};

pub fn flows() -> impl Strategy<Value = Vec<Flow>> {
    vec(prop_oneof![6 => packet(), 1 => other()], 1..12)
}

fn packet() -> impl Strategy<Value = Flow> {
    let ends = (any::<bool>(), address(), address());
    let ports = (port(), port(), option::of(any::<u8>()), option::of(any::<[u8; 2]>()));
    let fragment = select(vec![Fragment::None, Fragment::First, Fragment::Later]);
    let length = option::weighted(0.9, prop_oneof![0..1600_usize, 65_000..66_000_usize]);
    (ends, option::weighted(0.9, any::<u8>()), ports, fragment, length, vlans()).prop_map(
        |((is_v4, source, destination), protocol, ports, fragment, l3_length, vlans)| {
            let of = |(v4, v6): (Ipv4Addr, Ipv6Addr)| words(if is_v4 { v4.into() } else { v6.into() }).1;
            Flow {
                ip_version: Some(if is_v4 { 4 } else { 6 }),
                source: Some(of(source)),
                destination: Some(of(destination)),
                fragment: Some(fragment),
                source_port: ports.0,
                destination_port: ports.1,
                tcp_flags: ports.2,
                icmp: ports.3,
                protocol,
                l3_length,
                vlans,
                ..Flow::UNKNOWN
            }
        },
    )
}

fn other() -> impl Strategy<Value = Flow> {
    (select(vec![frame::ARP, frame::LINK_CONTROL, frame::OTHER]), vlans()).prop_map(|(other, vlans)| Flow {
        other,
        vlans,
        ..Flow::UNKNOWN
    })
}

fn vlans() -> impl Strategy<Value = [Option<u16>; 2]> {
    option::of(0..4096_u16).prop_map(|id| [id, None])
}

fn port() -> impl Strategy<Value = Option<u16>> {
    option::weighted(0.9, any::<u16>())
}

/// One of each version, near the prefixes that are in use.
fn address() -> impl Strategy<Value = (Ipv4Addr, Ipv6Addr)> {
    let of = |prefixes: Vec<ipnet::IpNet>| prefixes.iter().flat_map(around).collect::<Vec<_>>();
    let near =
        vec(prefix(), 8).prop_flat_map(move |prefixes| (select(of(prefixes)), any::<u32>(), any::<u128>()));
    near.prop_map(|(address, v4, v6)| match address {
        std::net::IpAddr::V4(address) => (address, Ipv6Addr::from_bits(v6)),
        std::net::IpAddr::V6(address) => (Ipv4Addr::from_bits(v4), address),
    })
}
