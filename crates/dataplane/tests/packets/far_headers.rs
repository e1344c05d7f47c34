//! Headers at and beyond the end of the linear head, where the program reads by copying. In a test run
//! the kernel gives the head one page less its own room: about 3.5 KB.

use sluice_ebpf_common::{Malformed, Outcome};
use sluice_testkit::{
    Frame,
    rules::{Action, Rule},
};

use crate::{
    can_load,
    probe::Probe,
    rules::{Counted, run},
};

const OPTIONS: u8 = 60;
const UDP: u8 = 17;
const NETWORK: usize = 14;

/// UDP to port 9 behind so many bytes of extension headers, which must be a multiple of eight.
fn behind(extensions: usize, tags: usize, payload: usize) -> Vec<u8> {
    let source = [0x2001, 0xdb8, 1, 0, 0, 0, 0, 0x10].into();
    let destination = [0x2001, 0xdb8, 2, 0, 0, 0, 0, 0x20].into();
    let mut frame = Frame::ethernet([2; 6], [2; 6]);
    for _ in 0..tags {
        frame = frame.vlan(7);
    }
    frame = frame.ipv6(source, destination);
    let mut units = extensions / 8;
    while units > 0 {
        let some = units.min(200);
        frame = frame.extension(OPTIONS, u8::try_from(some).unwrap());
        units -= some;
    }
    frame.udp(4000, 9).payload(&vec![0; payload]).build()
}

#[test]
fn the_transport_header_beyond_the_head_is_found() {
    if !can_load() {
        return;
    }
    let frame = behind(6400, 1, 200);
    let parsed = Probe::load().parse(&frame).unwrap();
    assert_eq!(parsed.malformed, None);
    assert_eq!(parsed.l4_offset, Some(14 + 4 + 40 + 6400));
    assert_eq!((parsed.source_port, parsed.destination_port), (Some(4000), Some(9)));
}

#[test]
fn a_rule_drops_by_a_port_beyond_the_head() {
    if !can_load() {
        return;
    }
    let expected = Counted { outcome: Outcome::DropRule, rules: vec![0], malformed: None };
    assert_eq!(run(&[Rule::port(UDP, 9, Action::Drop)], &behind(4800, 0, 900)), expected);
}

/// Every place where the end of the head can cut the headers, whatever the kernel's own room is.
#[test]
fn headers_across_the_end_of_the_head_are_found() {
    if !can_load() {
        return;
    }
    let probe = Probe::load();
    for tags in 0..=2 {
        for extensions in (3200..3900).step_by(8) {
            let parsed = probe.parse(&behind(extensions, tags, 600)).unwrap();
            let offset = NETWORK + 4 * tags + 40 + extensions;
            assert_eq!(parsed.l4_offset, Some(u64::try_from(offset).unwrap()));
            assert_eq!((parsed.malformed, parsed.destination_port), (None, Some(9)), "{extensions} {tags}");
        }
    }
}

#[test]
fn damage_beyond_the_head_is_counted() {
    if !can_load() {
        return;
    }
    let mut frame = behind(4800, 0, 0);
    let udp_length = frame.len() - 4;
    frame[udp_length..udp_length + 2].copy_from_slice(&7_u16.to_be_bytes());
    let expected =
        Counted { outcome: Outcome::DropRule, rules: vec![0], malformed: Some(Malformed::UdpLength) };
    assert_eq!(run(&[Rule::port(UDP, 9, Action::Drop)], &frame), expected);
}

#[test]
fn an_extension_header_that_claims_more_than_the_packet_is_refused() {
    if !can_load() {
        return;
    }
    let mut frame = behind(4800, 0, 0);
    // The last of three headers of 1600 bytes claims 2048.
    frame[NETWORK + 40 + 3200 + 1] = 255;
    let parsed = Probe::load().parse(&frame).unwrap();
    assert_eq!((parsed.malformed, parsed.protocol), (Some(Malformed::Ipv6ExtensionTruncated), None));
}
