//! Namespaces, veth labs, traffic and bpffs folders, on the real kernel.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use sluice_testkit::traffic::{Flood, TcpLoad, TcpServer, UdpSink, UdpStream, send};
use sluice_testkit::{BpffsDir, Feature, Frame, NetworkNamespace, VethLab, require, wait_until};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

fn udp_frame(lab: &VethLab, port: u16) -> Vec<u8> {
    let (node, peer) = (&lab.node, &lab.peer);
    Frame::ethernet(peer.mac, node.mac).ipv4(peer.ipv4, node.ipv4).udp(40_000, port).pad_to(60).build()
}

#[test]
fn a_namespace_is_private_and_goes_with_its_processes() {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let outside = fs::read_link("/proc/thread-self/ns/net").unwrap();
    let namespace = NetworkNamespace::new("private").unwrap();
    let inside = namespace.run(|| fs::read_link("/proc/thread-self/ns/net").unwrap());
    assert_ne!(outside, inside);
    assert_eq!(fs::read_link("/proc/thread-self/ns/net").unwrap(), outside);
    assert!(namespace.ip("-oneline link show").unwrap().lines().all(|line| line.contains("lo:")));

    let mut child = namespace.command("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let its_namespace = format!("/proc/{}/ns/net", child.id());
    wait_until(PATIENCE, "the child is inside", || {
        fs::read_link(&its_namespace).is_ok_and(|its| its == inside)
    });
    let path = namespace.path();
    assert!(path.exists());
    drop(namespace);
    assert!(!path.exists());
    assert!(!child.wait().unwrap().success(), "it was killed");
}

#[test]
fn a_panic_inside_a_namespace_goes_through() {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let namespace = NetworkNamespace::new("panic").unwrap();
    let result = std::panic::catch_unwind(|| namespace.run(|| panic!("inside")));
    assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"inside"));
}

#[test]
fn a_silent_lab_sends_nothing_by_itself() {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let lab = VethLab::options("silent").mtu(3000).queues(2).silent().build().unwrap();
    assert_eq!(lab.node.namespace.counters(&lab.node.device).unwrap().rx_packets, 0);
    let frame = udp_frame(&lab, 9);
    send(&lab.peer.namespace, &lab.peer.device, &vec![frame; 100]).unwrap();
    let counters = || lab.node.namespace.counters(&lab.node.device).unwrap();
    wait_until(PATIENCE, "all the frames arrive", || counters().rx_packets >= 100);
    assert_eq!(counters().rx_packets, 100);
    let line = lab.node.namespace.ip(&format!("-d link show dev {}", lab.node.device)).unwrap();
    assert!(line.contains("mtu 3000") && line.contains("numrxqueues 2"), "{line}");
    assert!(line.starts_with(&format!("{}: {}@", lab.node.ifindex, lab.node.device)), "{line}");
}

#[test]
fn both_address_families_work_at_once() {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let lab = VethLab::new("families").unwrap();
    for address in [SocketAddr::from((lab.node.ipv4, 0)), SocketAddr::from((lab.node.ipv6, 0))] {
        let server = TcpServer::start(&lab.node.namespace, address, None).unwrap();
        let load = TcpLoad::start(&lab.peer.namespace, server.address(), 2, None);
        wait_until(PATIENCE, "200 transactions", || load.transactions() >= 200);
        let report = load.stop().unwrap();
        assert_eq!(report.failures, 0);
        assert_eq!(report.latencies.len() as u64, report.transactions);
        assert!(report.percentile(50) <= report.percentile(99));
    }
}

#[test]
fn tcp_failures_are_counted() {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let lab = VethLab::new("refused").unwrap();
    let nobody = SocketAddr::from((lab.node.ipv4, 81));
    let load = TcpLoad::start(&lab.peer.namespace, nobody, 1, None);
    wait_until(PATIENCE, "a transaction fails", || load.failures() > 0);
    let report = load.stop().unwrap();
    assert_eq!(report.transactions, 0);
    assert!(report.failures > 0);
}

#[test]
fn a_flood_counts_what_it_sent() {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let lab = VethLab::options("flood").silent().build().unwrap();
    let sink = UdpSink::start(&lab.node.namespace, (lab.node.ipv4, 9).into()).unwrap();
    let flood = Flood::new(vec![udp_frame(&lab, 9)]).on_cpu(0).at_rate(20_000);
    let flood = flood.start(&lab.peer.namespace, &lab.peer.device).unwrap();
    wait_until(PATIENCE, "5000 frames are sent", || flood.sent() >= 5000);
    let report = flood.stop().unwrap();
    assert!(report.packets_per_second() < 25_000.0, "{report:?}");
    let device = lab.peer.namespace.counters(&lab.peer.device).unwrap();
    assert_eq!(device.tx_packets, report.sent);
    wait_until(PATIENCE, "the sink has them all", || sink.received() >= report.sent);
    assert_eq!(sink.received(), report.sent);
}

#[test]
fn a_flood_runs_against_pinned_napi_threads() {
    if !require(Feature::NetworkNamespaces)
        || !require(Feature::Cpus(2))
        || !require(Feature::Program("ethtool"))
    {
        return;
    }
    let lab = VethLab::new("pinned").unwrap();
    lab.threaded_napi_pinned(0).unwrap();
    let flood = Flood::new(vec![udp_frame(&lab, 9)]).on_cpu(1);
    let flood = flood.start(&lab.peer.namespace, &lab.peer.device).unwrap();
    wait_until(PATIENCE, "frames arrive on the other CPU", || {
        lab.node.namespace.counters(&lab.node.device).unwrap().rx_packets > 50_000
    });
    let report = flood.stop().unwrap();
    // What a full ring refuses is not counted as sent.
    let device = lab.peer.namespace.counters(&lab.peer.device).unwrap();
    assert!(device.tx_packets.abs_diff(report.sent) * 1000 <= report.sent, "{device:?} {report:?}");
}

#[test]
fn an_undisturbed_stream_loses_nothing_and_names_what_is_taken_from_it() {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let lab = VethLab::new("stream").unwrap();
    let (node, peer) = (&lab.node, &lab.peer);
    let start =
        || UdpStream::start(&peer.namespace, &node.namespace, (node.ipv4, 5000).into(), 2000).unwrap();
    let stream = start();
    wait_until(PATIENCE, "300 datagrams", || stream.sent() >= 300);
    let report = stream.stop().unwrap();
    assert_eq!((report.lost, report.duplicates), (vec![], 0));

    let stream = start();
    wait_until(PATIENCE, "100 datagrams", || stream.sent() >= 100);
    node.namespace.ip(&format!("route add blackhole {} table local", peer.ipv4)).unwrap();
    node.namespace.call("sysctl -q -w net.ipv4.conf.all.rp_filter=1").unwrap();
    let from = stream.sent();
    wait_until(PATIENCE, "100 more datagrams", || stream.sent() >= from + 100);
    let report = stream.stop().unwrap();
    assert!(report.lost.contains(&(from + 50)), "{report:?}");
    assert!(!report.lost.contains(&50), "{report:?}");
}

#[test]
fn a_bpffs_folder_goes_with_what_is_pinned_in_it() {
    if !require(Feature::Bpf) || !require(Feature::Program("bpftool")) {
        return;
    }
    let folder = BpffsDir::new("pins").unwrap();
    let path = folder.path().to_owned();
    fs::create_dir(path.join("below")).unwrap();
    let pin = path.join("below/map");
    let mut create = std::process::Command::new("bpftool");
    create
        .args(["map", "create"])
        .arg(&pin)
        .args(["type", "array", "key", "4", "value", "4", "entries", "1"]);
    assert!(create.args(["name", "testkit"]).status().unwrap().success());
    assert_eq!(folder.pins().unwrap(), [Path::new("below/map")]);
    drop(folder);
    assert!(!path.exists());
}
