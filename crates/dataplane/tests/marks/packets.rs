//! What arrives behind the TC program, for frames of all shapes, in both XDP modes and by both hooks.

use std::net::UdpSocket;
use std::time::Duration;

use aya::programs::XdpMode;
use rstest::rstest;
use sluice_dataplane::marks::MarkHook;
use sluice_ebpf_common::Metadata;

use crate::lab::{Node, Probe, Written};

/// Sends the frames and says what came by behind the TC program.
fn seen_behind(node: &Node, mode: XdpMode, written: Written, frames: &[Vec<u8>]) -> Vec<(u32, u32, u64)> {
    let pins = node.pins();
    let _marks = node.ensure(&pins).unwrap();
    let mut probe = Probe::attach(node, mode, written);
    if node.hook == MarkHook::Tcx {
        probe.watch_by_tcx(node);
    } else {
        probe.watch_by_filter(node);
    }
    node.send(frames);
    let seen = probe.wait_for(frames.len() as u64);
    let meant = if written.writes { frames.len() as u64 - 1 } else { 0 };
    assert_eq!(probe.written(), (meant, 0));
    seen
}

/// Three frames that the probe marks, and one that it does not.
fn frames(node: &Node, tag: Option<u16>, payload: usize) -> Vec<Vec<u8>> {
    [9, 9, 10, 9].map(|port| node.frame(tag, port, payload)).to_vec()
}

#[rstest]
fn mark_and_priority_arrive(
    #[values(XdpMode::Driver, XdpMode::Skb)] mode: XdpMode,
    #[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook,
    #[values((1500, None, 1), (1500, Some(5), 1), (9000, None, 8000), (9000, Some(5), 8000))] shape: (
        u32,
        Option<u16>,
        usize,
    ),
) {
    let (mtu, tag, payload) = shape;
    let Some(node) = Node::with_mtu("arrive", hook, mtu) else { return };
    let written = Written::new(Some(0x10), Some(0x0001_0010));
    let seen = seen_behind(&node, mode, written, &frames(&node, tag, payload));
    assert_eq!(seen, [(0, 0, 1), (0x10, 0x0001_0010, 3)]);
}

#[rstest]
#[case::mark_alone(Some(7), None, (7, 0, 3))]
#[case::priority_alone(None, Some(6), (0, 6, 3))]
fn what_is_not_given_is_not_changed(
    #[case] mark: Option<u32>,
    #[case] priority: Option<u32>,
    #[case] marked: (u32, u32, u64),
) {
    let Some(node) = Node::new("given", MarkHook::Clsact) else { return };
    let seen = seen_behind(&node, XdpMode::Driver, Written::new(mark, priority), &frames(&node, None, 1));
    let mut expected = [(0, 0, 1), marked];
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

#[rstest]
fn a_mark_behind_somebody_elses_metadata_arrives(
    #[values(XdpMode::Driver, XdpMode::Skb)] mode: XdpMode,
    #[values(4, 16, 64)] foreign: u32,
) {
    let Some(node) = Node::new("foreign", MarkHook::Clsact) else { return };
    let written = Written { foreign, ..Written::new(Some(7), Some(6)) };
    assert_eq!(seen_behind(&node, mode, written, &frames(&node, None, 1)), [(0, 0, 1), (7, 6, 3)]);
}

#[rstest]
fn somebody_elses_metadata_alone_is_ignored(#[values(4, 12, 16, 64)] foreign: u32) {
    let Some(node) = Node::new("alone", MarkHook::Clsact) else { return };
    let written = Written { foreign, writes: false, ..Written::new(Some(7), Some(6)) };
    assert_eq!(seen_behind(&node, XdpMode::Driver, written, &frames(&node, None, 1)), [(0, 0, 4)]);
}

#[rstest]
#[case::magic(|metadata: &mut Metadata| metadata.magic ^= 1)]
#[case::version(|metadata: &mut Metadata| metadata.version += 1)]
#[case::kind(|metadata: &mut Metadata| metadata.kind += 1)]
#[case::length(|metadata: &mut Metadata| metadata.length += 4)]
fn a_header_that_is_not_ours_is_ignored(#[case] spoil: fn(&mut Metadata)) {
    let Some(node) = Node::new("spoilt", MarkHook::Clsact) else { return };
    let mut written = Written::new(Some(7), Some(6));
    spoil(&mut written.metadata);
    assert_eq!(seen_behind(&node, XdpMode::Driver, written, &frames(&node, None, 1)), [(0, 0, 4)]);
}

#[rstest]
#[case::no_room(200)]
fn a_mark_that_cannot_be_written_is_told_and_the_packet_passes(#[case] foreign: u32) {
    let Some(node) = Node::new("room", MarkHook::Clsact) else { return };
    let pins = node.pins();
    let _marks = node.ensure(&pins).unwrap();
    let mut probe = Probe::attach(&node, XdpMode::Driver, Written { foreign, ..Written::new(Some(7), None) });
    probe.watch_by_filter(&node);
    node.send(&frames(&node, None, 1));
    assert_eq!(probe.wait_for(4), [(0, 0, 4)]);
    assert_eq!(probe.written(), (0, 3));
}

#[rstest]
fn the_stack_goes_by_the_mark(#[values(MarkHook::Tcx, MarkHook::Clsact)] hook: MarkHook) {
    let Some(node) = Node::new("stack", hook) else { return };
    let pins = node.pins();
    let _marks = node.ensure(&pins).unwrap();
    let _probe = Probe::attach(&node, XdpMode::Driver, Written::new(Some(0x10), None));
    let namespace = &node.lab.node.namespace;
    // The local table stands first and knows no marks: ours comes before it.
    for words in ["rule add pref 5 table local", "rule del pref 0", "rule add pref 1 fwmark 16 prohibit"] {
        namespace.ip(words).unwrap();
    }
    let bind = |port| {
        let socket = namespace.run(|| UdpSocket::bind((node.lab.node.ipv4, port))).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    };
    let (marked, plain) = (bind(9), bind(10));
    node.send(&frames(&node, None, 1));
    let mut buffer = [0; 64];
    assert_eq!(plain.recv(&mut buffer).unwrap(), 1);
    marked.set_nonblocking(true).unwrap();
    assert!(marked.recv(&mut buffer).is_err(), "the rule for the mark should have kept it back");
}
