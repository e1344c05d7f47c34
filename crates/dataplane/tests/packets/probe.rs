//! The program `parse-probe`: what the parser finds in a frame, as it runs in the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aya::{
    Ebpf,
    maps::Array,
    programs::{ProgramError, TestRun as _, TestRunOptions, Xdp},
};
use sluice_dataplane::test_programs::PARSE_PROBE;
use sluice_ebpf_common::Malformed;

/// As many as `ebpf/src/words.rs` writes, and in that order.
type Words = [u64; 23];

/// What the parser found. `None` is unknown.
#[derive(Debug, PartialEq)]
pub struct Parsed {
    pub malformed: Option<Malformed>,
    /// Outermost first.
    pub vlans: Vec<u16>,
    /// In hexadecimal, or "802.3" where it is a length.
    pub ether_type: Option<String>,
    pub l3_offset: Option<u64>,
    pub l3_length: Option<u64>,
    pub ip_version: Option<u8>,
    pub source: Option<IpAddr>,
    pub destination: Option<IpAddr>,
    pub protocol: Option<u8>,
    /// First, Later, or null where it is known to be none.
    pub fragment: Option<String>,
    pub l4_offset: Option<u64>,
    pub source_port: Option<u16>,
    pub destination_port: Option<u16>,
    pub tcp_flags: Option<u8>,
    pub icmp_type: Option<u8>,
    pub icmp_code: Option<u8>,
}

/// The loaded program.
pub struct Probe {
    ebpf: Ebpf,
}

impl Probe {
    pub fn load() -> Self {
        let mut ebpf = Ebpf::load(PARSE_PROBE).unwrap();
        let program: &mut Xdp = ebpf.program_mut("parse_probe").unwrap().try_into().unwrap();
        program.load().unwrap();
        Self { ebpf }
    }

    /// Parses `frame`; an error if the kernel refuses to run the program on it.
    pub fn parse(&self, frame: &[u8]) -> Result<Parsed, ProgramError> {
        let program: &Xdp = self.ebpf.program("parse_probe").unwrap().try_into().unwrap();
        program.test_run(TestRunOptions { data_in: Some(frame), ..TestRunOptions::new() })?;
        let map: Array<_, Words> = Array::try_from(self.ebpf.map("PARSED").unwrap()).unwrap();
        Ok(Parsed::of(&map.get(&0, 0).unwrap()))
    }
}

impl Parsed {
    fn of(words: &Words) -> Self {
        Self {
            malformed: number(words[0]).map(malformed),
            vlans: words[1..3].iter().filter_map(|word| number(*word)).collect(),
            ether_type: number(words[3]).map(ether_type),
            l3_offset: number(words[4]),
            l3_length: number(words[5]),
            ip_version: number(words[6]),
            protocol: number(words[7]),
            fragment: number(words[8]).map(fragment),
            l4_offset: number(words[9]),
            source_port: number(words[10]),
            destination_port: number(words[11]),
            tcp_flags: number(words[12]),
            icmp_type: number(words[13]),
            icmp_code: number(words[14]),
            source: address(&words[15..19], number(words[6])),
            destination: address(&words[19..23], number(words[6])),
        }
    }
}

/// All ones is unknown; a word that is too large for its field is a fault of the program.
fn number<T: TryFrom<u64, Error: std::fmt::Debug>>(word: u64) -> Option<T> {
    (word != u64::MAX).then(|| T::try_from(word).unwrap())
}

fn malformed(code: u32) -> Malformed {
    *Malformed::ALL.iter().find(|reason| **reason as u32 == code).expect("a known reason")
}

fn ether_type(number: u16) -> String {
    if number < 0x600 { "802.3".to_owned() } else { format!("{number:#06x}") }
}

fn fragment(code: usize) -> String {
    ["null", "First", "Later"][code].to_owned()
}

/// The parser keeps addresses in memory order, and an IPv4 address in the first of four words.
fn address(words: &[u64], version: Option<u8>) -> Option<IpAddr> {
    let words: Vec<u32> = words.iter().filter_map(|word| number(*word)).collect();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    match version {
        Some(4) => Some(Ipv4Addr::from(<[u8; 4]>::try_from(&bytes[..4]).unwrap()).into()),
        Some(6) => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).into()),
        _ => {
            assert_eq!(words, Vec::<u32>::new(), "an address without a version");
            None
        }
    }
}
