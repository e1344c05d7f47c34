//! Small pools from which policies and packets take the same values, so that they meet often: bounds, neighbours, and
//! prefixes that hold each other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;
use sluice_policy::NodeFacts;

use crate::choices::Choices;

pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const GRE: u8 = 47;
pub const ESP: u8 = 50;
pub const ICMPV6: u8 = 58;
pub const SCTP: u8 = 132;

pub const PORTS: [u16; 20] =
    [9, 8, 10, 0, 1, 22, 53, 67, 68, 80, 99, 100, 200, 201, 546, 6443, 8472, 10250, 65534, 65535];
pub const VLAN_IDS: [u16; 6] = [100, 0, 208, 1, 4094, 4095];
pub const FLAGS: [&str; 8] = ["SYN", "ACK", "FIN", "RST", "PSH", "URG", "ECE", "CWR"];
pub const ICMP_TYPES: [u8; 20] =
    [8, 0, 3, 4, 11, 12, 128, 129, 1, 2, 130, 132, 133, 134, 135, 136, 137, 138, 143, 255];
pub const ICMP_CODES: [u8; 4] = [0, 1, 4, 255];
pub const LENGTHS: [u16; 12] = [0, 20, 28, 40, 46, 48, 60, 64, 100, 1500, 9000, 65535];

/// Addresses of the node's own traffic are among them.
const V4: [Ipv4Addr; 16] = [
    Ipv4Addr::new(10, 0, 0, 1),
    Ipv4Addr::new(10, 0, 0, 0),
    Ipv4Addr::new(10, 0, 0, 2),
    Ipv4Addr::new(10, 0, 0, 127),
    Ipv4Addr::new(10, 0, 0, 128),
    Ipv4Addr::new(10, 0, 0, 255),
    Ipv4Addr::new(10, 0, 1, 0),
    Ipv4Addr::new(10, 1, 0, 0),
    Ipv4Addr::new(11, 0, 0, 1),
    Ipv4Addr::new(127, 255, 255, 255),
    Ipv4Addr::new(128, 0, 0, 0),
    Ipv4Addr::new(192, 0, 2, 53),
    Ipv4Addr::new(203, 0, 113, 40),
    Ipv4Addr::new(203, 0, 113, 41),
    Ipv4Addr::UNSPECIFIED,
    Ipv4Addr::BROADCAST,
];
const V6: [Ipv6Addr; 15] = [
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0x8000, 0, 0, 0),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 0x10),
    Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0x10),
    Ipv6Addr::new(0x2001, 0xdb8, 0xf, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x53),
    Ipv6Addr::new(0x2001, 0xdb9, 0, 0, 0, 0, 0, 0),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x0a00, 0x0001, 0, 0, 0, 0, 0, 0),
    Ipv6Addr::UNSPECIFIED,
    Ipv6Addr::LOCALHOST,
    Ipv6Addr::new(0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff),
];
const LENGTHS_V4: [u8; 14] = [32, 24, 16, 8, 0, 1, 7, 9, 15, 17, 23, 25, 30, 31];
const LENGTHS_V6: [u8; 16] = [128, 64, 48, 32, 0, 1, 15, 16, 17, 31, 33, 63, 65, 120, 126, 127];

/// What the node must keep talking to.
pub fn facts() -> NodeFacts {
    let endpoint = |address: IpAddr, port| SocketAddr::new(address, port);
    NodeFacts {
        api_servers: vec![endpoint(V4[12].into(), 6443), endpoint(V6[6].into(), 443)],
        resolvers: vec![V4[11].into(), V6[7].into()],
        overlay_ports: vec![8472],
        ..NodeFacts::default()
    }
}

pub fn v4(choices: &mut Choices<'_>) -> Ipv4Addr {
    let address = choices.of(&V4);
    // Now and then a neighbour.
    if choices.chance(10) { Ipv4Addr::from(address.to_bits() ^ u32::from(choices.byte())) } else { address }
}

pub fn v6(choices: &mut Choices<'_>) -> Ipv6Addr {
    let address = choices.of(&V6);
    if choices.chance(10) {
        let shift = choices.of(&[0, 56, 64, 96, 120]);
        return Ipv6Addr::from(address.to_bits() ^ u128::from(choices.byte()) << shift);
    }
    address
}

pub fn prefix_v4(choices: &mut Choices<'_>) -> IpNet {
    net(choices.of(&V4).into(), choices.of(&LENGTHS_V4))
}

pub fn prefix_v6(choices: &mut Choices<'_>) -> IpNet {
    net(choices.of(&V6).into(), choices.of(&LENGTHS_V6))
}

fn net(address: IpAddr, length: u8) -> IpNet {
    IpNet::new(address, length).unwrap().trunc()
}
