//! Packets that end early: at every byte of the frame, and at every byte of the packet with the lengths
//! in the headers saying so.

use proptest::prelude::*;
use sluice_ebpf::flow::{Flow, Fragment};
use sluice_ebpf_common::Malformed;

use crate::{
    bytes::parsed,
    oracle,
    packet::{Network, packets},
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_cut_frame_is_refused_where_etherparse_refuses_it(packet in packets()) {
        let frame = packet.bytes();
        let whole = parsed(&frame);
        for length in 0..frame.len() {
            let flow = parsed(&frame[..length]);
            match oracle::read(&frame[..length]) {
                Some(expected) => prop_assert_eq!(flow, expected, "cut to {}", length),
                None => prop_assert!(flow.malformed.is_some(), "cut to {}: {:?}", length, flow),
            }
            prop_assert!(knows_no_more(&flow, &whole), "cut to {}: {:?}", length, flow);
        }
    }

    #[test]
    fn a_short_packet_is_refused_where_etherparse_refuses_it(packet in packets()) {
        let packet_is_ip = !matches!(packet.network, Network::Other { .. });
        prop_assume!(packet_is_ip);
        let frame = packet.bytes();
        let whole = parsed(&frame);
        let start = whole.l3_offset.unwrap();
        let first = start + if whole.ip_version == Some(4) { 20 } else { 40 };
        for end in first..start + whole.l3_length.unwrap() {
            let flow = parsed(&shortened(&frame, &whole, end));
            let Some(mut expected) = oracle::read(&shortened(&frame, &whole, end)) else {
                prop_assert!(flow.malformed.is_some(), "cut to {}: {:?}", end, flow);
                continue;
            };
            // etherparse does not look into these transport headers; the parser does.
            if let Some(header) = unread_header(&expected) {
                let missing = end - expected.l4_offset.unwrap() < header;
                expected.malformed = missing.then_some(Malformed::L4Truncated);
            }
            prop_assert_eq!(flow, expected, "cut to {}", end);
        }
    }
}

/// The frame up to `end`, with the network header's length to match.
fn shortened(frame: &[u8], whole: &Flow, end: usize) -> Vec<u8> {
    let mut frame = frame[..end].to_vec();
    let start = whole.l3_offset.unwrap();
    let (at, length) = match whole.ip_version {
        Some(4) => (start + 2, end - start),
        _ => (start + 4, end - start - 40),
    };
    frame[at..at + 2].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
    frame
}

/// The least length of a transport header that etherparse leaves alone: SCTP, and all in first fragments.
fn unread_header(flow: &Flow) -> Option<usize> {
    flow.l4_offset?;
    match (flow.protocol?, flow.fragment?) {
        (132, _) => Some(12),
        (6, Fragment::First) => Some(20),
        (1 | 17 | 58, Fragment::First) => Some(8),
        _ => None,
    }
}

/// Each field of `part` is unknown or as in `whole`. The type of a frame that ends within its tags is
/// that of the next tag.
fn knows_no_more(part: &Flow, whole: &Flow) -> bool {
    fn same<T: Copy + PartialEq>(part: Option<T>, whole: Option<T>) -> bool {
        part.is_none() || part == whole
    }
    let in_tags = part.malformed == Some(Malformed::VlanTruncated);
    same(part.vlans[0], whole.vlans[0])
        && same(part.vlans[1], whole.vlans[1])
        && (in_tags || same(part.ether_type, whole.ether_type))
        && same(part.l3_offset, whole.l3_offset)
        && same(part.l3_length, whole.l3_length)
        && same(part.ip_version, whole.ip_version)
        && same(part.source, whole.source)
        && same(part.destination, whole.destination)
        && same(part.protocol, whole.protocol)
        && same(part.fragment, whole.fragment)
        && same(part.l4_offset, whole.l4_offset)
        && same(part.source_port, whole.source_port)
        && same(part.destination_port, whole.destination_port)
        && same(part.tcp_flags, whole.tcp_flags)
        && same(part.icmp, whole.icmp)
}
