//! What must hold for any bytes, and agreement with `etherparse` on valid packets.

use proptest::{collection::vec, prelude::*, sample::Index};
use sluice_ebpf::{
    flow::{Flow, Fragment},
    parse::parse,
};

use crate::{
    bytes::{Head, parsed},
    oracle,
    packet::packets,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_parse_without_panic(frame in vec(any::<u8>(), 0..200)) {
        consistent(&frame, &parsed(&frame))?;
    }

    #[test]
    fn damaged_packets_parse_without_panic(
        packet in packets(),
        damage in vec((any::<Index>(), any::<u8>()), 1..6),
        cut in any::<Index>(),
    ) {
        let mut frame = packet.bytes();
        for (at, byte) in damage {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        frame.truncate(cut.index(frame.len() + 1));
        consistent(&frame, &parsed(&frame))?;
    }

    #[test]
    fn valid_packets_agree_with_etherparse(packet in packets()) {
        let frame = packet.bytes();
        let expected = oracle::read(&frame).expect("etherparse takes what was generated");
        prop_assert_eq!(parsed(&frame), expected);
    }

    /// The lengths that transport headers tell: a TCP data offset, a UDP length.
    #[test]
    fn transport_lengths_agree_with_etherparse(packet in packets(), length in 0..70_u8) {
        let mut frame = packet.bytes();
        let flow = parsed(&frame);
        match (flow.fragment, flow.protocol, flow.l4_offset) {
            (Some(Fragment::None), Some(6), Some(offset)) => frame[offset + 12] = length << 4,
            // The host takes a length of 0 over IPv6 only, see `differences`.
            (Some(Fragment::None), Some(17), Some(offset)) => frame[offset + 5] = length.max(1),
            _ => (),
        }
        match oracle::read(&frame) {
            Some(expected) => prop_assert_eq!(parsed(&frame), expected),
            None => prop_assert!(parsed(&frame).malformed.is_some()),
        }
    }

    /// The program parses the linear head first, and again by copying where the head does not settle
    /// the frame: so whatever is settled must be right, wherever the head ends.
    #[test]
    fn a_settled_head_parses_as_the_whole_frame(packet in packets(), linear in any::<Index>()) {
        settled_is_right(&packet.bytes(), linear)?;
    }

    #[test]
    fn a_settled_head_of_a_damaged_packet_parses_as_the_whole_frame(
        packet in packets(),
        linear in any::<Index>(),
        damage in (any::<Index>(), any::<u8>()),
    ) {
        let mut frame = packet.bytes();
        let at = damage.0.index(frame.len());
        frame[at] = damage.1;
        settled_is_right(&frame, linear)?;
    }

    /// Nearly every frame must take the fast way: the copying one costs three times as much.
    #[test]
    fn a_valid_packet_in_the_head_is_settled(packet in packets()) {
        let frame = packet.bytes();
        let flow = parse(&Head { bytes: &frame, length: frame.len() });
        let whole = parsed(&frame);
        prop_assert_eq!(flow.is_settled(), whole.malformed.is_none() && whole.l3_length.is_some());
    }

    #[test]
    fn padding_changes_nothing(packet in packets(), padding in vec(any::<u8>(), 0..40)) {
        let mut padded = packet.clone();
        padded.padding = padding;
        prop_assert_eq!(parsed(&packet.bytes()), parsed(&padded.bytes()));
    }
}

fn settled_is_right(frame: &[u8], linear: Index) -> Result<(), TestCaseError> {
    let bytes = &frame[..linear.index(frame.len() + 1)];
    for length in [bytes.len(), frame.len()] {
        let flow = parse(&Head { bytes, length });
        prop_assert!(!flow.is_settled() || flow == parsed(frame), "{:?}", flow);
    }
    Ok(())
}

/// Offsets lie in the frame and in order; nothing is known behind what is unknown.
fn consistent(frame: &[u8], flow: &Flow) -> Result<(), TestCaseError> {
    let l3_offset = flow.l3_offset.unwrap_or(0);
    let l3_end = flow.l3_length.map_or(l3_offset, |length| l3_offset + length);
    prop_assert!(l3_end <= frame.len());
    prop_assert!(flow.l4_offset.is_none_or(|offset| (l3_offset..=l3_end).contains(&offset)));
    prop_assert!(flow.vlans[0].is_some() || flow.vlans[1].is_none());
    prop_assert_eq!(flow.ip_version.is_some(), flow.l3_length.is_some());
    prop_assert_eq!(flow.ip_version.is_some(), flow.source.is_some());
    prop_assert_eq!(flow.ip_version.is_some(), flow.destination.is_some());
    prop_assert_eq!(flow.ip_version.is_some(), flow.fragment.is_some());
    prop_assert!(flow.protocol.is_none() || flow.ip_version.is_some());
    prop_assert!(flow.l4_offset.is_none() || flow.protocol.is_some());
    prop_assert_eq!(flow.source_port.is_some(), flow.destination_port.is_some());
    prop_assert!(flow.source_port.is_none() || matches!(flow.protocol, Some(6 | 17 | 132)));
    prop_assert!(flow.tcp_flags.is_none() || flow.protocol == Some(6));
    prop_assert!(flow.icmp.is_none() || matches!(flow.protocol, Some(1 | 58)));
    Ok(())
}
