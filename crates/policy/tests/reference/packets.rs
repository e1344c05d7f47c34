//! Every frame of `packets.yaml` by its id, and what no case of it shows.

use rstest::rstest;
use sluice_ebpf_common::Malformed;
use sluice_policy::reference::{FragmentPlace, dissect};

use crate::cases::{all, bytes, case};

#[rstest]
#[case::pkt_01("PKT-01")]
#[case::pkt_02("PKT-02")]
#[case::pkt_03("PKT-03")]
#[case::pkt_04("PKT-04")]
#[case::pkt_05("PKT-05")]
#[case::pkt_06("PKT-06")]
#[case::pkt_07("PKT-07")]
#[case::pkt_08("PKT-08")]
#[case::pkt_09("PKT-09")]
#[case::pkt_10("PKT-10")]
#[case::pkt_11("PKT-11")]
#[case::pkt_12("PKT-12")]
#[case::pkt_13("PKT-13")]
#[case::pkt_14("PKT-14")]
#[case::pkt_15("PKT-15")]
#[case::pkt_16("PKT-16")]
#[case::pkt_17("PKT-17")]
#[case::pkt_18("PKT-18")]
#[case::pkt_19("PKT-19")]
#[case::pkt_20("PKT-20")]
#[case::pkt_21("PKT-21")]
#[case::pkt_22("PKT-22")]
#[case::pkt_23("PKT-23")]
#[case::pkt_24("PKT-24")]
#[case::pkt_25("PKT-25")]
#[case::pkt_26("PKT-26")]
#[case::pkt_27("PKT-27")]
#[case::pkt_28("PKT-28")]
#[case::pkt_29("PKT-29")]
#[case::pkt_30("PKT-30")]
#[case::pkt_31("PKT-31")]
#[case::pkt_32("PKT-32")]
#[case::pkt_33("PKT-33")]
#[case::pkt_34("PKT-34")]
#[case::pkt_35("PKT-35")]
#[case::pkt_36("PKT-36")]
#[case::pkt_37("PKT-37")]
#[case::pkt_38("PKT-38")]
#[case::pkt_39("PKT-39")]
#[case::pkt_40("PKT-40")]
#[case::pkt_41("PKT-41")]
#[case::pkt_42("PKT-42")]
#[case::pkt_43("PKT-43")]
#[case::pkt_44("PKT-44")]
#[case::pkt_45("PKT-45")]
#[case::pkt_46("PKT-46")]
#[case::pkt_47("PKT-47")]
#[case::pkt_48("PKT-48")]
#[case::pkt_49("PKT-49")]
#[case::pkt_50("PKT-50")]
fn dissects(#[case] id: &str) {
    let case = case(id);
    assert_eq!(dissect(&case.frame()), case.packet());
}

#[test]
fn every_case_of_the_file_is_tested() {
    let ids: Vec<String> = all().into_iter().map(|case| case.id).collect();
    let tested: Vec<String> = (1..=50).map(|number| format!("PKT-{number:02}")).collect();
    assert_eq!(ids, tested);
}

/// Destination and source address of an Ethernet frame.
const ADDRESSES: &str = "020000000002020000000001";
/// An IPv4 packet of 28 bytes with its EtherType: UDP to port 9.
const UDP_9: &str = "08004500001c1234000040117c4bc000020ac63364140fa0000900080000";

fn frame(parts: &[&str]) -> Vec<u8> {
    [&bytes(ADDRESSES)[..], &bytes(&parts.concat())].concat()
}

/// An IPv6 packet with its EtherType.
fn ipv6(next: &str, payload: &str) -> Vec<u8> {
    let length = format!("{:04x}", payload.len() / 2);
    ipv6_of_length(&length, next, payload)
}

fn ipv6_of_length(length: &str, next: &str, payload: &str) -> Vec<u8> {
    let (source, destination) = ("20010db8000100000000000000000010", "20010db8000200000000000000000020");
    frame(&["86dd60000000", length, next, "40", source, destination, payload])
}

#[rstest]
#[case::eight_priority_tags(&"8100e000".repeat(8), None, Some(9))]
#[case::nine_priority_tags(&"8100e000".repeat(9), Some(Malformed::VlanDepth), None)]
#[case::two_vlans_among_priority_tags("8100000088a80005810000008100000688a80000", None, Some(9))]
#[case::a_third_vlan_behind_priority_tags(
    "8100000181000000810000028100000081000003",
    Some(Malformed::VlanDepth),
    None
)]
#[case::type_0x9100_is_no_tag("91000005", None, None)]
fn tags_are_looked_through(
    #[case] tags: &str,
    #[case] malformed: Option<Malformed>,
    #[case] destination_port: Option<u16>,
) {
    let packet = dissect(&frame(&[tags, UDP_9]));
    assert_eq!((packet.malformed, packet.destination_port), (malformed, destination_port));
}

#[test]
fn length_0_before_hop_by_hop_means_the_whole_frame() {
    let packet = dissect(&ipv6_of_length("0000", "00", "11000104000000000fa00009000800000000"));
    assert_eq!((packet.malformed, packet.destination_port, packet.l3_length), (None, Some(9), Some(58)));
    let packet = dissect(&ipv6_of_length("0000", "11", "0fa0000900080000"));
    assert_eq!((packet.malformed, packet.destination_port), (Some(Malformed::L4Truncated), None));
}

#[test]
fn an_ipv4_length_of_0_is_that_of_a_packet_too_long_to_say_it() {
    let mut whole = frame(&[UDP_9]);
    whole[16..18].copy_from_slice(&[0, 0]);
    assert_eq!(dissect(&whole).malformed, Some(Malformed::Ipv4TotalLength));
    whole.resize(14 + 65_535, 0);
    assert_eq!(dissect(&whole).malformed, Some(Malformed::Ipv4TotalLength));
    whole.push(0);
    let packet = dissect(&whole);
    assert_eq!((packet.malformed, packet.l3_length, packet.destination_port), (None, Some(65_536), Some(9)));
}

#[rstest]
#[case::eight(8, None)]
#[case::nine(9, Some(Malformed::Ipv6ExtensionDepth))]
fn extension_headers_are_walked(#[case] count: usize, #[case] malformed: Option<Malformed>) {
    let chain = ["3c00010400000000".repeat(count - 1), "1100010400000000".into(), "0fa0000900080000".into()];
    let packet = dissect(&ipv6("3c", &chain.concat()));
    assert_eq!((packet.malformed, packet.destination_port), (malformed, malformed.is_none().then_some(9)));
}

#[test]
fn udp_length_0_is_taken_over_ipv6_only() {
    let packet = dissect(&ipv6("11", "0fa0000900000000"));
    assert_eq!((packet.malformed, packet.destination_port), (None, Some(9)));
    let packet = dissect(&frame(&[&UDP_9.replace("0fa0000900080000", "0fa0000900000000")]));
    assert_eq!((packet.malformed, packet.destination_port), (Some(Malformed::UdpLength), Some(9)));
}

#[test]
fn a_later_fragment_before_an_extension_header_has_no_known_protocol() {
    let packet = dissect(&ipv6("2c", "3c0005a8000000071100010400000000"));
    assert_eq!((packet.malformed, packet.fragment), (None, Some(FragmentPlace::Later)));
    assert_eq!((packet.protocol, packet.l4_offset), (None, None));
}

/// Its options may go on in the next fragment.
#[test]
fn tcp_options_may_end_behind_a_first_fragment_only() {
    let tcp = "9c4001bb0000000100000000f002faf000000000";
    let of_fragment = |fragment| format!("080045000028123{fragment}0040067c4ac000020ac6336414{tcp}");
    let first = dissect(&frame(&[&of_fragment("420")]));
    assert_eq!((first.malformed, first.tcp_flags), (None, Some(2)));
    let whole = dissect(&frame(&[&of_fragment("400")]));
    assert_eq!((whole.malformed, whole.tcp_flags), (Some(Malformed::TcpDataOffset), None));
}

/// Else four bytes of ICMPv6 would pass for neighbour discovery (POL-06).
#[test]
fn icmp_type_and_code_count_in_a_whole_header_only() {
    let packet = dissect(&ipv6("3a", "87000000"));
    assert_eq!(
        (packet.malformed, packet.icmp, packet.protocol),
        (Some(Malformed::L4Truncated), None, Some(58))
    );
}
