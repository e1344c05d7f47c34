//! The frame builder against an independent parser.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use etherparse::{IpNumber, NetSlice, SlicedPacket, TransportSlice};
use sluice_testkit::Frame;
use std::net::{Ipv4Addr, Ipv6Addr};

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];
const V4: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2));
const V6: (Ipv6Addr, Ipv6Addr) =
    (Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 2));

fn ethernet() -> Frame {
    Frame::ethernet(A, B)
}

#[test]
fn udp_over_ipv4_with_options_in_two_tags() {
    let frame = ethernet().service_vlan(7).vlan(0).ipv4(V4.0, V4.1).ipv4_options(&[1, 1, 1]).udp(1000, 9);
    let bytes = frame.payload(b"odd").build();
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap();
    assert_eq!(packet.link_exts.len(), 2);
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("{packet:?}") };
    assert_eq!(ip.header().options(), [1, 1, 1, 0]);
    assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
    let Some(TransportSlice::Udp(udp)) = &packet.transport else { panic!("{packet:?}") };
    assert_eq!((udp.source_port(), udp.destination_port(), udp.payload()), (1000, 9, &b"odd"[..]));
    let checksum = udp.to_header().calc_checksum_ipv4_raw(V4.0.octets(), V4.1.octets(), b"odd").unwrap();
    assert_eq!(udp.checksum(), checksum);
}

#[test]
fn tcp_over_ipv6_behind_extension_headers() {
    let frame =
        ethernet().ipv6(V6.0, V6.1).extension(0, 1).extension(60, 2).ipv6_fragment(0, false).tcp(1, 2, 2);
    let bytes = frame.payload(b"hello").build();
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap();
    let Some(NetSlice::Ipv6(ip)) = &packet.net else { panic!("{packet:?}") };
    assert_eq!(ip.payload().ip_number, IpNumber::TCP);
    assert!(!ip.is_payload_fragmented());
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else { panic!("{packet:?}") };
    assert!(tcp.syn() && !tcp.ack());
    let checksum = tcp.to_header().calc_checksum_ipv6_raw(V6.0.octets(), V6.1.octets(), b"hello").unwrap();
    assert_eq!(tcp.checksum(), checksum);
}

#[test]
fn the_authentication_header_has_its_own_unit() {
    let bytes = ethernet().ipv6(V6.0, V6.1).extension(51, 2).udp(3, 4).build();
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap();
    assert!(matches!(packet.transport, Some(TransportSlice::Udp(udp)) if udp.destination_port() == 4));
}

#[test]
fn fragments_say_so() {
    let bytes = ethernet().ipv4(V4.0, V4.1).ipv4_fragment(185, true).protocol(17).payload(&[0; 8]).build();
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap();
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("{packet:?}") };
    assert_eq!(ip.header().fragments_offset().value(), 185);
    assert!(ip.header().more_fragments());
    assert!(packet.transport.is_none());

    let bytes = ethernet().ipv6(V6.0, V6.1).ipv6_fragment(185, true).protocol(17).payload(&[0; 8]).build();
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap();
    let Some(NetSlice::Ipv6(ip)) = &packet.net else { panic!("{packet:?}") };
    assert!(ip.is_payload_fragmented());
}

#[test]
fn icmp_follows_its_network_layer() {
    let bytes = ethernet().ipv4(V4.0, V4.1).icmp(8, 0).payload(b"ping").build();
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap();
    let Some(TransportSlice::Icmpv4(icmp)) = &packet.transport else { panic!("{packet:?}") };
    assert_eq!(icmp.checksum(), icmp.header().icmp_type.calc_checksum(icmp.payload()));

    let bytes = ethernet().ipv6(V6.0, V6.1).icmp(128, 0).payload(b"ping").build();
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap();
    let Some(TransportSlice::Icmpv6(icmp)) = &packet.transport else { panic!("{packet:?}") };
    assert!(icmp.is_checksum_valid(V6.0.octets(), V6.1.octets()));
}

#[test]
fn sctp_and_other_protocols_keep_their_numbers() {
    let bytes = ethernet().ipv4(V4.0, V4.1).sctp(5, 6).build();
    let packet = SlicedPacket::from_ethernet(&bytes).unwrap();
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("{packet:?}") };
    assert_eq!((ip.payload().ip_number, &ip.payload().payload[..4]), (IpNumber::SCTP, &[0, 5, 0, 6][..]));
}

#[test]
fn padding_only_fills_up() {
    assert_eq!(ethernet().ethertype(0x88b5).build().len(), 14);
    assert_eq!(ethernet().ipv4(V4.0, V4.1).udp(1, 2).pad_to(60).build().len(), 60);
    assert_eq!(ethernet().payload(&[0; 100]).pad_to(60).build().len(), 114);
}
