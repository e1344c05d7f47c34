//! `cases/packets.yaml`: frames, and the parse that is right.

use std::{collections::BTreeMap, net::IpAddr};

use serde::{Deserialize, de::DeserializeOwned};
use sluice_ebpf_common::Malformed;

use crate::probe::Parsed;

static PACKETS: &str = include_str!("../cases/packets.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub id: String,
    #[serde(rename = "title")]
    _title: String,
    #[serde(rename = "why")]
    _why: String,
    input: Input,
    pub expect: Expect,
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

/// A key that is absent is unknown to the parser; `null` is known to be nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Expect {
    #[serde(default)]
    vlans: Vec<u16>,
    ether_type: Option<String>,
    l3_offset: Option<u64>,
    ip_version: Option<u8>,
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    l3_length: Option<u64>,
    protocol: Option<u8>,
    #[serde(default, deserialize_with = "known")]
    fragment: Option<String>,
    l4_offset: Option<u64>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    tcp_flags: Option<Vec<String>>,
    icmp_type: Option<u8>,
    icmp_code: Option<u8>,
    malformed: Option<String>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// Keeps a key that is `null` apart from one that is absent.
fn known<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name: Option<String> = Option::deserialize(deserializer)?;
    Ok(name.or_else(|| Some("null".to_owned())))
}

/// Reads a file of `cases/`, which is a list.
pub fn read<T: DeserializeOwned>(file: &str) -> Vec<T> {
    serde_saphyr::from_str(file).unwrap()
}

/// All the cases, by id.
pub fn all() -> BTreeMap<String, Case> {
    read(PACKETS).into_iter().map(|case: Case| (case.id.clone(), case)).collect()
}

/// The case with this id.
pub fn case(id: &str) -> Case {
    all().remove(id).unwrap_or_else(|| panic!("no case {id}"))
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
}

impl Expect {
    pub fn malformed(&self) -> Option<Malformed> {
        let name = self.malformed.as_ref()?;
        Some(*Malformed::ALL.iter().find(|reason| reason.name() == name).expect("a known reason"))
    }

    /// What the probe must find.
    pub fn parsed(&self) -> Parsed {
        Parsed {
            malformed: self.malformed(),
            vlans: self.vlans.clone(),
            ether_type: self.ether_type.clone(),
            l3_offset: self.l3_offset,
            l3_length: self.l3_length,
            ip_version: self.ip_version,
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            fragment: self.fragment.clone(),
            l4_offset: self.l4_offset,
            source_port: self.source_port,
            destination_port: self.destination_port,
            tcp_flags: self.tcp_flags.as_ref().map(|flags| flags.iter().map(|flag| bit(flag)).sum()),
            icmp_type: self.icmp_type,
            icmp_code: self.icmp_code,
        }
    }
}

fn bit(flag: &str) -> u8 {
    let flags = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
    1 << flags.iter().position(|known| *known == flag).expect("a TCP flag")
}

/// The bytes of a string of hexadecimal digits.
pub fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2));
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
