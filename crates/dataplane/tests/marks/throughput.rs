//! Marks do not break the merging of TCP segments (GRO), which compares metadata in native mode; in generic
//! mode it comes before XDP.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

use aya::programs::XdpMode;
use sluice_dataplane::marks::MarkHook;
use sluice_testkit::{Feature, require};

use crate::lab::{Node, Probe, Written};

const BYTES: usize = 64 << 20;
const CHUNK: usize = 64 << 10;

/// Sends [`BYTES`] to the node by TCP; returns once they are there.
fn transfer(node: &Node) {
    let address = (node.lab.node.ipv4, 5001);
    let listener = node.inside(|| TcpListener::bind(address)).unwrap();
    let sender = node.lab.peer.namespace.spawn("sender", move || {
        let mut stream = TcpStream::connect(address).unwrap();
        for _ in 0..BYTES / CHUNK {
            stream.write_all(&vec![0; CHUNK]).unwrap();
        }
    });
    let (mut stream, _) = listener.accept().unwrap();
    let (mut buffer, mut received) = (vec![0; CHUNK], 0);
    while received < BYTES {
        match stream.read(&mut buffer).unwrap() {
            0 => break,
            bytes => received += bytes,
        }
    }
    assert_eq!(received, BYTES);
    sender.join().unwrap();
}

/// Packets that the stack gets for [`BYTES`].
fn packets(node: &Node, mode: XdpMode, writes: bool) -> u64 {
    let written = Written { port: 0, writes, ..Written::new(Some(7), Some(6)) };
    let mut probe = Probe::attach(node, mode, written);
    probe.watch_by_tcx(node);
    transfer(node);
    let seen = probe.seen();
    let of = |mark| seen.iter().filter(|seen| seen.0 == mark).map(|seen| seen.2).sum::<u64>();
    let (marked, other) = if writes { (of(7), of(0)) } else { (of(0), of(7)) };
    assert_eq!(other, 0, "{seen:?}");
    marked
}

mod alone {
    use super::*;

    #[test]
    fn marked_tcp_is_merged_as_well_as_unmarked_in_native_mode() {
        let Some(node) = Node::new("merge", MarkHook::Tcx) else { return };
        if !require(Feature::Program("ethtool")) {
            return;
        }
        // Segments come one by one, and GRO is on.
        node.lab.threaded_napi_pinned(0).unwrap();
        let (unmarked, marked) = compare(&node, XdpMode::Driver);
        let segments = BYTES as u64 / 1448;
        assert!(unmarked < segments / 4, "nothing is merged here, so that the test says nothing");
        assert!(marked < segments / 4, "{marked} of {segments}");
    }

    #[test]
    fn marked_tcp_stays_merged_in_generic_mode() {
        let Some(node) = Node::new("merged", MarkHook::Tcx) else { return };
        // Segments come merged already, as from a driver with GRO.
        let (unmarked, marked) = compare(&node, XdpMode::Skb);
        assert!(marked < unmarked * 3, "{marked}, and {unmarked} without marks");
    }

    /// Packets for the same bytes, without and with marks.
    fn compare(node: &Node, mode: XdpMode) -> (u64, u64) {
        let pins = node.pins();
        let _marks = node.ensure(&pins).unwrap();
        let (unmarked, marked) = (packets(node, mode, false), packets(node, mode, true));
        println!("{BYTES} bytes arrive in {unmarked} packets, marked in {marked}");
        (unmarked, marked)
    }
}
