//! `explain --packet` as people call it: frames and descriptions, the words of the answer, and of what was
//! not understood.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{fs, path::Path};

use assert_cmd::Command;
use insta::assert_snapshot;
use tempfile::TempDir;

const POLICY: &str = "tests/policies/packet.yaml";

fn explain(words: &[&str]) -> (i32, String) {
    let mut command = Command::cargo_bin("sluicectl").unwrap();
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("explain").args(words).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

fn packet(description: &str) -> String {
    let (code, text) = explain(&[POLICY, "--packet", description]);
    assert_eq!(code, 0, "{text}");
    text
}

#[test]
fn a_packet_that_is_dropped() {
    assert_snapshot!(packet("udp 192.0.2.1:4000 > 198.51.100.20:9"));
}

#[test]
fn a_packet_that_the_failsafe_passes() {
    assert_snapshot!(packet("tcp [2001:db8::1]:1 > [2001:db8::2]:22 syn"));
}

#[test]
fn a_packet_that_falls_to_the_default_action() {
    assert_snapshot!(packet("icmp 192.0.2.1 > 198.51.100.20 type 8"));
}

#[test]
fn a_packet_with_marks_in_a_vlan() {
    assert_snapshot!(packet("tcp 192.0.2.1:4000 > 198.51.100.20:443 syn,ack vlan 208 vlan 4 length 1500"));
}

#[test]
fn a_later_fragment() {
    assert_snapshot!(packet("udp 192.0.2.1 > 198.51.100.20 fragment later"));
}

#[test]
fn a_packet_that_is_steered() {
    assert_snapshot!(packet("udp 192.0.2.1:5060 > 198.51.100.20:5060"));
}

#[test]
fn every_rule() {
    let words = [POLICY, "--all", "--packet", "udp 192.0.2.1:4000 > 198.51.100.20:9"];
    assert_snapshot!(explain(&words).1);
}

#[test]
fn as_json_and_as_yaml() {
    let words = [POLICY, "--packet", "udp 192.0.2.1:4000 > 198.51.100.20:9", "-o"];
    assert_snapshot!(explain(&[&words[..], &["json"]].concat()).1);
    let (code, yaml) = explain(&[&words[..], &["yaml"]].concat());
    assert_eq!(code, 0);
    assert!(yaml.contains("decidedBy: discard/udp9"), "{yaml}");
}

#[test]
fn a_frame_in_hexadecimal_digits_is_the_same_packet() {
    let frame =
        "02:00:00:00:00:02 02:00:00:00:00:01 0800 4500001c1234000040117c4b c0000201c6336414 0fa0000900080000";
    assert_eq!(packet(frame), packet("udp 192.0.2.1:4000 > 198.51.100.20:9"));
    let cut = packet("020000000002020000000001080045");
    assert!(cut.contains("malformed (Ipv4Truncated)"), "{cut}");
}

#[test]
fn what_was_not_understood_is_told() {
    let descriptions = [
        "",
        "http 192.0.2.1:1 > 192.0.2.2:2",
        "udp",
        "udp 192.0.2.1:1 192.0.2.2:2",
        "udp 192.0.2.1:1 >",
        "udp 192.0.2.300:1 > 192.0.2.2:2",
        "udp 192.0.2.1:70000 > 192.0.2.2:2",
        "udp 192.0.2.1 > 192.0.2.2:2",
        "udp 192.0.2.1:1 > [2001:db8::1]:2",
        "icmp 192.0.2.1 > 192.0.2.2",
        "icmp [2001:db8::1] > 2001:db8::2 type 8",
        "gre 192.0.2.1:1 > 192.0.2.2:2",
        "udp 192.0.2.1:1 > 192.0.2.2:2 syn",
        "tcp 192.0.2.1:1 > 192.0.2.2:2 sync",
        "tcp 192.0.2.1:1 > 192.0.2.2:2 vlan",
        "tcp 192.0.2.1:1 > 192.0.2.2:2 vlan 4096",
        "tcp 192.0.2.1:1 > 192.0.2.2:2 length 39",
        "tcp 192.0.2.1:1 > 192.0.2.2:2 fragment middle",
        "tcp 192.0.2.1:1 > 192.0.2.2:2 fragment later",
        "0200000",
    ];
    let mut text = String::new();
    for description in descriptions {
        let (code, answer) = explain(&[POLICY, "--packet", description]);
        assert_eq!(code, 64, "{answer}");
        assert!(answer.contains("Write it as \"udp 192.0.2.1:4000 > 198.51.100.20:9\""), "{answer}");
        let (what, _) = answer.split_once(". Write it as").unwrap();
        text += &format!("{what}\n");
    }
    assert_snapshot!(text);
}

#[test]
fn bad_policies_are_told_first() {
    let words = ["tests/policies/many-errors.yaml", "--packet", "arp"];
    let (code, text) = explain(&words);
    assert_eq!(code, 1);
    assert_eq!(text, explain(&words[..1]).1);
}

#[test]
fn of_several_interfaces_one_is_chosen() {
    let folder = TempDir::new().unwrap();
    let links = folder.path().join("links.yaml");
    fs::write(&links, "links: [{name: eth0, linkType: 1}, {name: eth1, linkType: 1}]").unwrap();
    let words = [POLICY, "--links", links.to_str().unwrap(), "--packet", "arp"];
    let on = |name| explain(&[&words[..], &["--interface", name]].concat());
    let (code, text) = explain(&words);
    assert_eq!(code, 1);
    assert_snapshot!(text, @r"
    error: the packet may arrive on eth0, eth1
      fix: choose one with --interface
    ");
    let (code, text) = on("eth1");
    assert_eq!(code, 0);
    assert!(text.starts_with("a frame that is ARP, on eth1\n"), "{text}");
    assert_snapshot!(on("eth2").1, @r"
    error: no policy is on eth2
      fix: leave --interface out to see which there are
    ");
}

#[test]
fn its_words_need_a_packet() {
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(POLICY).exists());
    assert_eq!(explain(&[POLICY, "--all"]).0, 64);
    assert_eq!(explain(&[POLICY, "--interface", "eth0"]).0, 64);
}
