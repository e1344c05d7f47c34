//! Each place where the parser and `etherparse` differ on purpose, one test a place, and why.

use sluice_ebpf::flow::{Flow, Fragment};
use sluice_ebpf_common::Malformed;

use crate::{bytes::parsed, oracle};

const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
const UDP: u8 = 17;
const UDP_TO_9: [u8; 8] = [0x0f, 0xa0, 0, 9, 0, 8, 0, 0];
/// A destination options header of one padding option; the next header is in front.
const OPTIONS: [u8; 7] = [0, 1, 4, 0, 0, 0, 0];

fn ethernet(parts: &[&[u8]]) -> Vec<u8> {
    [&ETHERNET[..], &parts.concat()].concat()
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(20 + payload.len()).unwrap();
    let header = [0x45, 0, 0, length, 0, 1, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 10, 198, 51, 100, 20];
    ethernet(&[&[8, 0], &header, payload])
}

fn ipv6_of_length(length: u16, next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    ethernet(&[&[0x86, 0xdd, 0x60, 0, 0, 0, high, low, next, 64], &[1; 16], &[2; 16], payload])
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    ipv6_of_length(u16::try_from(payload.len()).unwrap(), next, payload)
}

fn options(next: u8) -> Vec<u8> {
    [&[next], &OPTIONS[..]].concat()
}

fn known(frame: &[u8]) -> Flow {
    let flow = parsed(frame);
    assert_eq!(flow.malformed, None, "{flow:?}");
    flow
}

/// The host knows no such tag (`eth_type_vlan` in the kernel): it never delivers what is inside.
#[test]
fn type_0x9100_is_no_tag() {
    let frame = ethernet(&[&[0x91, 0, 0, 5], &ipv4(UDP, &UDP_TO_9)[12..]]);
    assert_eq!(oracle::read(&frame).unwrap().destination_port, Some(9));
    let flow = known(&frame);
    assert_eq!((flow.ether_type, flow.vlans, flow.protocol), (Some(0x9100), [None; 2], None));
}

/// R1: the third tag is not parsed, and is counted, since the host may deliver it.
#[test]
fn a_third_tag_ends_the_parse() {
    let frame = ethernet(&[&[0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3], &ipv4(UDP, &UDP_TO_9)[12..]]);
    assert_eq!(oracle::read(&frame).unwrap().destination_port, Some(9));
    let flow = parsed(&frame);
    assert_eq!((flow.malformed, flow.protocol), (Some(Malformed::VlanDepth), None));
    assert_eq!(flow.vlans, [Some(1), Some(2)]);
}

/// No rule reads anything inside ARP, so a short one is not for the parser to refuse (R1).
#[test]
fn arp_is_not_looked_into() {
    let frame = ethernet(&[&[8, 6, 0, 1]]);
    assert_eq!(oracle::read(&frame), None);
    assert_eq!(known(&frame).ether_type, Some(0x0806));
}

/// R3: a first fragment has ports, and its UDP length is that of the whole datagram.
#[test]
fn a_first_fragment_has_ports() {
    let mut frame = ipv4(UDP, &[0x0f, 0xa0, 0, 9, 7, 0xd8, 0, 0]);
    frame[20] = 0x20;
    let flow = known(&frame);
    assert_eq!((flow.fragment, flow.destination_port), (Some(Fragment::First), Some(9)));
}

/// R2: what follows in a later fragment is payload, though it may look like an extension header.
#[test]
fn a_later_fragment_is_not_walked_on() {
    let fragment = [60, 0, 5, 0xa8, 0, 0, 0, 7];
    let frame = ipv6(44, &[&fragment[..], &options(UDP), &UDP_TO_9].concat());
    assert_eq!(oracle::read(&frame).unwrap().protocol, Some(UDP));
    let flow = known(&frame);
    assert_eq!((flow.fragment, flow.protocol), (Some(Fragment::Later), None));
    assert_eq!((flow.l4_offset, flow.destination_port), (None, None));
}

/// R1: refusing it is the host's business, and it may learn to take it.
#[test]
fn hop_by_hop_in_second_place_is_walked() {
    let frame = ipv6(60, &[options(0), options(UDP), UDP_TO_9.to_vec()].concat());
    assert_eq!(oracle::read(&frame), None);
    assert_eq!(known(&frame).destination_port, Some(9));
}

/// R1: the host takes all of the frame when a hop-by-hop header follows, jumbo option or not.
#[test]
fn payload_length_0_before_hop_by_hop_means_the_whole_frame() {
    let flow = known(&ipv6_of_length(0, 0, &[options(UDP), UDP_TO_9.to_vec()].concat()));
    assert_eq!((flow.l3_length, flow.destination_port), (Some(56), Some(9)));
}

/// In front of any other header the host takes a payload length of 0 at its word.
#[test]
fn payload_length_0_elsewhere_means_no_payload() {
    let frame = ipv6_of_length(0, UDP, &UDP_TO_9);
    assert_eq!(oracle::read(&frame).unwrap().destination_port, Some(9));
    let flow = parsed(&frame);
    assert_eq!((flow.malformed, flow.destination_port), (Some(Malformed::L4Truncated), None));
}

/// R1: more than eight extension headers are not parsed, and are counted.
#[test]
fn a_ninth_extension_header_ends_the_parse() {
    let walk = |count: usize| {
        let chain: Vec<u8> = (1..=count).flat_map(|n| options(if n == count { UDP } else { 60 })).collect();
        ipv6(60, &[&chain[..], &UDP_TO_9].concat())
    };
    assert_eq!(known(&walk(8)).destination_port, Some(9));
    assert_eq!(oracle::read(&walk(9)).unwrap().destination_port, Some(9));
    let flow = parsed(&walk(9));
    assert_eq!((flow.malformed, flow.protocol), (Some(Malformed::Ipv6ExtensionDepth), None));
}

/// R1: an authentication header without its fields is for the host to refuse.
#[test]
fn an_authentication_header_of_8_bytes_is_walked() {
    let frame = ipv6(51, &[&[UDP, 0, 0, 0, 0, 0, 0, 0][..], &UDP_TO_9].concat());
    assert_eq!(oracle::read(&frame), None);
    assert_eq!(known(&frame).destination_port, Some(9));
}

/// Extension headers are an IPv6 matter: over IPv4 the protocol is what the header says.
#[test]
fn an_authentication_header_in_ipv4_is_a_protocol() {
    let frame = ipv4(51, &[&[UDP, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1][..], &UDP_TO_9].concat());
    assert_eq!(oracle::read(&frame).unwrap().protocol, Some(UDP));
    let flow = known(&frame);
    assert_eq!((flow.protocol, flow.l4_offset, flow.destination_port), (Some(51), Some(34), None));
}

/// R1: the host drops it (over IPv6 it would take it, see the next test).
#[test]
fn udp_length_0_over_ipv4_is_malformed() {
    let frame = ipv4(UDP, &[0x0f, 0xa0, 0, 9, 0, 0, 0, 0]);
    assert_eq!(oracle::read(&frame).unwrap().destination_port, Some(9));
    let flow = parsed(&frame);
    assert_eq!((flow.malformed, flow.destination_port), (Some(Malformed::UdpLength), Some(9)));
}

/// R1: the host takes it, and so do both parsers.
#[test]
fn udp_length_0_over_ipv6_means_the_whole_packet() {
    let frame = ipv6(UDP, &[0x0f, 0xa0, 0, 9, 0, 0, 0, 0]);
    assert_eq!(Some(known(&frame)), oracle::read(&frame));
}

/// R1: type and code are there, and the host does not insist on a length for every type.
#[test]
fn an_icmp_timestamp_may_have_any_length() {
    let frame = ipv4(1, &[13, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(oracle::read(&frame), None);
    assert_eq!(known(&frame).icmp, Some([13, 0]));
}

/// IGMP is known by its number only (R1): a short one is for the host to refuse.
#[test]
fn igmp_is_not_looked_into() {
    let frame = ipv4(2, &[0x11]);
    assert_eq!(oracle::read(&frame), None);
    assert_eq!(known(&frame).protocol, Some(2));
}

/// What the host put together from many packets is too long for the length field, which is then 0.
#[test]
fn a_packet_of_more_than_65535_bytes_says_no_length() {
    let frame = |payload: usize| {
        let mut frame = ipv4(UDP, &UDP_TO_9);
        frame[16..18].copy_from_slice(&[0, 0]);
        frame.resize(14 + 20 + payload, 0);
        frame
    };
    let flow = parsed(&frame(70_000));
    assert_eq!((flow.destination_port, flow.l3_length), (Some(9), Some(70_020)));
    assert_eq!(parsed(&frame(1_000)).malformed, Some(Malformed::Ipv4TotalLength));
}

/// The host takes off any number of priority tags; the parser looks through eight tags.
#[test]
fn priority_tags_do_not_hide_a_packet() {
    let untagged = ipv4(UDP, &UDP_TO_9);
    let tagged = |tags: usize| [&untagged[..12], &[0x81, 0, 0xe0, 0].repeat(tags), &untagged[12..]].concat();
    for tags in 0..=8 {
        assert_eq!(known(&tagged(tags)).destination_port, Some(9), "{tags} tags");
    }
    assert_eq!(parsed(&tagged(9)).malformed, Some(Malformed::VlanDepth));
}
