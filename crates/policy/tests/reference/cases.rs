//! `packets.yaml`, which the tests of the dataplane read too: frames, and the parse that is right.

use std::net::IpAddr;

use serde::Deserialize;
use serde_json::Value;
use sluice_policy::IpVersion;
use sluice_policy::reference::{FragmentPlace, Packet};

static PACKETS: &str = include_str!("../../../dataplane/tests/cases/packets.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub id: String,
    #[serde(rename = "title")]
    _title: String,
    #[serde(rename = "why")]
    _why: String,
    input: Input,
    expect: Expect,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Input {
    frame_length: usize,
    hex: Option<String>,
    hex_parts: Option<Vec<Part>>,
    pad_to: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    repeat: usize,
    hex: String,
}

/// A key that is absent is unknown; a `fragment` that is null is known to be none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Expect {
    #[serde(default)]
    vlans: Vec<u16>,
    ether_type: Option<String>,
    l3_offset: Option<usize>,
    ip_version: Option<u8>,
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    l3_length: Option<usize>,
    protocol: Option<u8>,
    #[serde(default, deserialize_with = "known")]
    fragment: Option<Value>,
    l4_offset: Option<usize>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    tcp_flags: Option<Vec<String>>,
    icmp_type: Option<u8>,
    icmp_code: Option<u8>,
    malformed: Option<String>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

fn known<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

pub fn all() -> Vec<Case> {
    serde_saphyr::from_str(PACKETS).unwrap()
}

/// The case with this id.
pub fn case(id: &str) -> Case {
    all().into_iter().find(|case| case.id == id).unwrap_or_else(|| panic!("no case {id}"))
}

/// The bytes of a string of hexadecimal digits.
pub fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

impl Case {
    pub fn frame(&self) -> Vec<u8> {
        let input = &self.input;
        let mut frame = input.hex.as_deref().map(bytes).unwrap_or_default();
        for part in input.hex_parts.iter().flatten() {
            frame.extend(bytes(&part.hex).repeat(part.repeat));
        }
        frame.resize(input.pad_to.unwrap_or(frame.len()), 0);
        assert_eq!(frame.len(), input.frame_length, "{} is not as long as it says", self.id);
        frame
    }

    /// What the dissector must find. The cases say nothing of the destination MAC, and of an 802.3 frame only
    /// that it is one.
    pub fn packet(&self) -> Packet {
        let (expect, frame) = (&self.expect, self.frame());
        let malformed = expect.malformed.as_deref().map(|name| {
            let all = sluice_ebpf_common::Malformed::ALL;
            *all.iter().find(|reason| reason.name() == name).expect("a known reason")
        });
        let length_field = || u16::from_be_bytes([frame[12], frame[13]]);
        Packet {
            frame_length: frame.len(),
            malformed,
            destination_mac: (frame.len() >= 14).then(|| *frame.first_chunk().unwrap()),
            vlans: expect.vlans.clone(),
            ether_type: expect.ether_type.as_deref().map(|text| match text {
                "802.3" => length_field(),
                number => u16::from_str_radix(number.trim_start_matches("0x"), 16).unwrap(),
            }),
            l3_offset: expect.l3_offset,
            l3_length: expect.l3_length,
            ip_version: expect.ip_version.map(|number| match number {
                4 => IpVersion::V4,
                6 => IpVersion::V6,
                other => panic!("IP version {other}"),
            }),
            source: expect.source,
            destination: expect.destination,
            protocol: expect.protocol,
            fragment: expect.fragment.as_ref().map(place),
            l4_offset: expect.l4_offset,
            source_port: expect.source_port,
            destination_port: expect.destination_port,
            tcp_flags: expect.tcp_flags.as_ref().map(|flags| flags.iter().map(|flag| bit(flag)).sum()),
            icmp: expect.icmp_type.zip(expect.icmp_code),
        }
    }
}

fn place(value: &Value) -> FragmentPlace {
    match value.as_str() {
        None => FragmentPlace::Whole,
        Some("First") => FragmentPlace::First,
        Some("Later") => FragmentPlace::Later,
        Some(other) => panic!("fragment {other}"),
    }
}

fn bit(flag: &str) -> u8 {
    let flags = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
    1 << flags.iter().position(|known| *known == flag).expect("a TCP flag")
}
