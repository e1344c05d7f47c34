//! Well-formed packets: `etherparse` writes what was chosen, and the dissector must read it back. And any
//! bytes at all, which must not confuse it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{
    EtherType, Ethernet2Header, IpAuthHeader, IpFragOffset, IpNumber, Ipv4Header, Ipv6FragmentHeader,
    Ipv6Header, Ipv6RawExtHeader, SingleVlanHeader, TcpHeader, UdpHeader, VlanId, VlanPcp,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sluice_policy::IpVersion;
use sluice_policy::reference::{FragmentPlace, Packet, dissect};

/// What is chosen of a packet.
#[derive(Clone, Debug)]
struct Chosen {
    vlans: Vec<(bool, u8, u16)>,
    network: Network,
    /// Offset in units of eight bytes, and whether more fragments follow.
    fragment: (u16, bool),
    transport: Transport,
    payload: Vec<u8>,
    padding: usize,
}

#[derive(Clone, Debug)]
enum Network {
    V4 { source: Ipv4Addr, destination: Ipv4Addr, options: Vec<u8> },
    V6 { source: Ipv6Addr, destination: Ipv6Addr, extensions: Vec<Extension>, with_fragment_header: bool },
}

#[derive(Clone, Debug)]
enum Extension {
    Options { kind: u8, body: Vec<u8> },
    Authentication { check_value: Vec<u8> },
}

#[derive(Clone, Debug)]
enum Transport {
    Tcp { ports: (u16, u16), flags: u8, options: Vec<u8> },
    Udp { ports: (u16, u16) },
    Sctp { ports: (u16, u16) },
    Icmp { kind: u8, code: u8 },
    Other { protocol: u8 },
}

impl Chosen {
    fn is_v4(&self) -> bool {
        matches!(self.network, Network::V4 { .. })
    }

    fn protocol(&self) -> u8 {
        match self.transport {
            Transport::Tcp { .. } => 6,
            Transport::Udp { .. } => 17,
            Transport::Sctp { .. } => 132,
            Transport::Icmp { .. } => {
                if self.is_v4() {
                    1
                } else {
                    58
                }
            }
            Transport::Other { protocol } => protocol,
        }
    }

    fn place(&self) -> FragmentPlace {
        let has_place = !matches!(self.network, Network::V6 { with_fragment_header: false, .. });
        match self.fragment {
            (0, true) if has_place => FragmentPlace::First,
            (1.., _) if has_place => FragmentPlace::Later,
            _ => FragmentPlace::Whole,
        }
    }

    fn transport_bytes(&self) -> Vec<u8> {
        let header = match &self.transport {
            Transport::Tcp { ports, flags, options } => {
                let mut header = TcpHeader::new(ports.0, ports.1, 1, 0xfaf0);
                let bit = |number: u8| flags & (1 << number) != 0;
                (header.fin, header.syn, header.rst, header.psh) = (bit(0), bit(1), bit(2), bit(3));
                (header.ack, header.urg, header.ece, header.cwr) = (bit(4), bit(5), bit(6), bit(7));
                header.set_options_raw(options).unwrap();
                header.to_bytes().to_vec()
            }
            Transport::Udp { ports } => {
                let length = u16::try_from(8 + self.payload.len()).unwrap();
                UdpHeader { source_port: ports.0, destination_port: ports.1, length, checksum: 0 }
                    .to_bytes()
                    .to_vec()
            }
            Transport::Sctp { ports } => {
                [&ports.0.to_be_bytes()[..], &ports.1.to_be_bytes(), &[0; 8]].concat()
            }
            Transport::Icmp { kind, code } => vec![*kind, *code, 0, 0, 0, 0, 0, 0],
            Transport::Other { .. } => vec![],
        };
        [header, self.payload.clone()].concat()
    }

    /// EtherType and IP packet.
    fn network_bytes(&self) -> (EtherType, Vec<u8>) {
        let transport = self.transport_bytes();
        let offset = IpFragOffset::try_new(self.fragment.0).unwrap();
        match &self.network {
            Network::V4 { source, destination, options } => {
                let (source, destination) = (source.octets(), destination.octets());
                let length = u16::try_from(transport.len()).unwrap();
                let number = IpNumber(self.protocol());
                let mut header = Ipv4Header::new(length, 64, number, source, destination).unwrap();
                header.options = options.as_slice().try_into().unwrap();
                header.set_payload_len(transport.len()).unwrap();
                (header.fragment_offset, header.more_fragments) = (offset, self.fragment.1);
                (EtherType::IPV4, [header.to_bytes().to_vec(), transport].concat())
            }
            Network::V6 { source, destination, .. } => {
                let (next, chain) = self.chain(offset);
                let payload = [chain, transport].concat();
                let header = Ipv6Header {
                    payload_length: u16::try_from(payload.len()).unwrap(),
                    next_header: next,
                    source: source.octets(),
                    destination: destination.octets(),
                    ..Ipv6Header::default()
                };
                (EtherType::IPV6, [header.to_bytes().to_vec(), payload].concat())
            }
        }
    }

    /// The extension headers, built from the inside: the kind of the first, and the bytes of all.
    fn chain(&self, offset: IpFragOffset) -> (IpNumber, Vec<u8>) {
        let Network::V6 { extensions, with_fragment_header, .. } = &self.network else {
            return (IpNumber(self.protocol()), vec![]);
        };
        let (mut next, mut bytes) = (IpNumber(self.protocol()), vec![]);
        if *with_fragment_header {
            bytes = Ipv6FragmentHeader::new(next, offset, self.fragment.1, 7).to_bytes().to_vec();
            next = IpNumber::IPV6_FRAGMENTATION_HEADER;
        }
        for extension in extensions.iter().rev() {
            let (kind, header) = match extension {
                Extension::Options { kind, body } => {
                    (IpNumber(*kind), Ipv6RawExtHeader::new_raw(next, body).unwrap().to_bytes().to_vec())
                }
                Extension::Authentication { check_value } => {
                    let header = IpAuthHeader::new(next, 1, 1, check_value).unwrap();
                    (IpNumber::AUTHENTICATION_HEADER, header.to_bytes().to_vec())
                }
            };
            bytes = [header, bytes].concat();
            next = kind;
        }
        (next, bytes)
    }

    fn frame(&self) -> Vec<u8> {
        let (mut ether_type, mut bytes) = self.network_bytes();
        bytes.resize(bytes.len() + self.padding, 0xaa);
        for (is_service, priority, id) in self.vlans.iter().rev() {
            let tag = SingleVlanHeader {
                pcp: VlanPcp::try_new(*priority).unwrap(),
                drop_eligible_indicator: priority % 2 == 1,
                vlan_id: VlanId::try_new(*id).unwrap(),
                ether_type,
            };
            bytes = [tag.to_bytes().to_vec(), bytes].concat();
            let service =
                if *is_service { EtherType::PROVIDER_BRIDGING } else { EtherType::VLAN_TAGGED_FRAME };
            ether_type = service;
        }
        let (destination, source) = ([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]);
        [Ethernet2Header { source, destination, ether_type }.to_bytes().to_vec(), bytes].concat()
    }

    /// What the dissector must find.
    fn packet(&self) -> Packet {
        let (ether_type, network) = self.network_bytes();
        let transport = self.transport_bytes();
        let l3_offset = 14 + 4 * self.vlans.len();
        let place = self.place();
        let seen = place != FragmentPlace::Later;
        let (ip_version, source, destination): (_, IpAddr, IpAddr) = match self.network {
            Network::V4 { source, destination, .. } => (IpVersion::V4, source.into(), destination.into()),
            Network::V6 { source, destination, .. } => (IpVersion::V6, source.into(), destination.into()),
        };
        let mut packet = Packet {
            frame_length: self.frame().len(),
            destination_mac: Some([2, 0, 0, 0, 0, 2]),
            vlans: self.vlans.iter().map(|(_, _, id)| *id).collect(),
            ether_type: Some(ether_type.0),
            l3_offset: Some(l3_offset),
            l3_length: Some(network.len()),
            ip_version: Some(ip_version),
            source: Some(source),
            destination: Some(destination),
            protocol: Some(self.protocol()),
            fragment: Some(place),
            l4_offset: seen.then_some(l3_offset + network.len() - transport.len()),
            ..Packet::default()
        };
        match self.transport {
            Transport::Tcp { ports, .. } | Transport::Udp { ports } | Transport::Sctp { ports } if seen => {
                (packet.source_port, packet.destination_port) = (Some(ports.0), Some(ports.1));
                if let Transport::Tcp { flags, .. } = self.transport {
                    packet.tcp_flags = Some(flags);
                }
            }
            Transport::Icmp { kind, code } if seen => packet.icmp = Some((kind, code)),
            _ => {}
        }
        packet
    }
}

fn chosen() -> impl Strategy<Value = Chosen> {
    let tag = (any::<bool>(), 0..8_u8, prop_oneof![Just(0), 1..4096_u16]);
    let fragment =
        prop_oneof![3 => Just((0, false)), 1 => Just((0, true)), 1 => (0..0x2000_u16, any::<bool>())];
    (vec(tag, 0..=2), network(), fragment, transport(), vec(any::<u8>(), 0..40), 0..20_usize).prop_map(
        |(vlans, network, fragment, transport, payload, padding)| Chosen {
            vlans,
            network,
            fragment,
            transport,
            payload,
            padding,
        },
    )
}

fn network() -> impl Strategy<Value = Network> {
    let v4 = (any::<Ipv4Addr>(), any::<Ipv4Addr>(), words(0..=10))
        .prop_map(|(source, destination, options)| Network::V4 { source, destination, options });
    let v6 = (any::<Ipv6Addr>(), any::<Ipv6Addr>(), vec(extension(), 0..=7), any::<bool>()).prop_map(
        |(source, destination, extensions, with_fragment_header)| Network::V6 {
            source,
            destination,
            extensions,
            with_fragment_header,
        },
    );
    prop_oneof![v4, v6]
}

fn extension() -> impl Strategy<Value = Extension> {
    let size = prop_oneof![20 => 0..4_usize, 1 => Just(255)];
    let body = size.prop_flat_map(|units| vec(any::<u8>(), 6 + units * 8));
    prop_oneof![
        3 => (select(vec![0_u8, 43, 60]), body).prop_map(|(kind, body)| Extension::Options { kind, body }),
        1 => words(0..=5).prop_map(|check_value| Extension::Authentication { check_value }),
    ]
}

fn transport() -> impl Strategy<Value = Transport> {
    let known = [1, 6, 17, 58, 132, 0, 43, 44, 51, 60];
    let other = any::<u8>().prop_filter("known by its number only", move |number| !known.contains(number));
    prop_oneof![
        (any::<(u16, u16)>(), any::<u8>(), words(0..=10))
            .prop_map(|(ports, flags, options)| Transport::Tcp { ports, flags, options }),
        any::<(u16, u16)>().prop_map(|ports| Transport::Udp { ports }),
        any::<(u16, u16)>().prop_map(|ports| Transport::Sctp { ports }),
        any::<(u8, u8)>().prop_map(|(kind, code)| Transport::Icmp { kind, code }),
        other.prop_map(|protocol| Transport::Other { protocol }),
    ]
}

/// Some bytes, in multiples of four.
fn words(count: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<u8>> {
    count.prop_flat_map(|count| vec(any::<u8>(), count * 4))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_etherparse_writes_is_read_back(chosen in chosen()) {
        prop_assert_eq!(dissect(&chosen.frame()), chosen.packet());
    }

    #[test]
    fn a_cut_or_damaged_frame_shows_no_more_than_it_has(
        chosen in chosen(),
        damage in vec((any::<Index>(), any::<u8>()), 0..4),
        cut in any::<Index>(),
    ) {
        let mut frame = chosen.frame();
        for (at, byte) in damage {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        frame.truncate(cut.index(frame.len() + 1));
        consistent(&frame)?;
    }

    #[test]
    fn any_bytes_are_read_without_panic(frame in vec(any::<u8>(), 0..200)) {
        consistent(&frame)?;
    }
}

/// Offsets lie in the frame, and nothing is known behind what is unknown.
fn consistent(frame: &[u8]) -> Result<(), TestCaseError> {
    let packet = dissect(frame);
    prop_assert_eq!(packet.frame_length, frame.len());
    let end = packet.l3_offset.unwrap_or(0) + packet.l3_length.unwrap_or(0);
    prop_assert!(end <= frame.len());
    prop_assert!(packet.l4_offset.is_none_or(|offset| packet.l3_offset.unwrap() < offset && offset <= end));
    prop_assert_eq!(packet.ip_version.is_some(), packet.l3_length.is_some());
    prop_assert_eq!(packet.ip_version.is_some(), packet.source.is_some() && packet.destination.is_some());
    prop_assert_eq!(packet.ip_version.is_some(), packet.fragment.is_some());
    prop_assert!(packet.protocol.is_none() || packet.ip_version.is_some());
    prop_assert!(packet.l4_offset.is_none() || packet.protocol.is_some());
    prop_assert_eq!(packet.source_port.is_some(), packet.destination_port.is_some());
    prop_assert!(packet.source_port.is_none() || matches!(packet.protocol, Some(6 | 17 | 132)));
    prop_assert!(packet.tcp_flags.is_none() || packet.protocol == Some(6) && packet.malformed.is_none());
    prop_assert!(
        packet.icmp.is_none() || matches!(packet.protocol, Some(1 | 58)) && packet.malformed.is_none()
    );
    Ok(())
}
