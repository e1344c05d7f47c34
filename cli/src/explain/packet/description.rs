//! A packet in a few words: `udp 192.0.2.1:4000 > 198.51.100.20:9 vlan 5 length 100`. It says what was not
//! understood, and never guesses an address or a port.

use std::net::{IpAddr, SocketAddr};

use sluice_policy::IpVersion;
use sluice_policy::reference::{FragmentPlace, Packet};

const TCP: u8 = 6;
/// By name: number, and the bytes of the smallest header.
const PROTOCOLS: [(&str, u8, usize); 10] = [
    ("udp", 17, 8),
    ("tcp", TCP, 20),
    ("sctp", 132, 12),
    ("icmp", 1, 8),
    ("icmpv6", 58, 8),
    ("gre", 47, 4),
    ("esp", 50, 8),
    ("igmp", 2, 8),
    ("ospf", 89, 24),
    ("vrrp", 112, 8),
];
const TCP_FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
const SYN: u8 = 2;
const ETHERNET_HEADER: usize = 14;
const VLAN_TAG: usize = 4;
const LARGEST_VLAN: u16 = 4095;
const MOST_VLANS: usize = 2;

/// What stands behind the addresses.
#[derive(Default)]
struct Options {
    vlans: Vec<u16>,
    length: Option<usize>,
    fragment: Option<FragmentPlace>,
    icmp_type: Option<u8>,
    icmp_code: Option<u8>,
    tcp_flags: Option<u8>,
}

/// Reads a description.
pub fn parse(text: &str) -> Result<Packet, String> {
    let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    let mut words = words.iter().map(String::as_str);
    let first = words.next().ok_or("there is no packet")?;
    if first == "arp" {
        return arp(options(words)?);
    }
    let (protocol, header) = protocol(first)?;
    let (source, source_port) = end(words.next(), "source")?;
    match words.next() {
        Some(">" | "->") => {}
        Some(other) => return Err(format!("{other:?} stands where \">\" is expected, behind the source")),
        None => return Err("\">\" and a destination are missing behind the source".to_owned()),
    }
    let (destination, destination_port) = end(words.next(), "destination")?;
    let options = options(words)?;
    let ip = Ip { protocol, header, source, destination };
    ip.packet((source_port, destination_port), &options)
}

fn protocol(word: &str) -> Result<(u8, usize), String> {
    let named =
        PROTOCOLS.iter().find(|(name, ..)| *name == word).map(|(_, number, header)| (*number, *header));
    let by_number = |number: u8| {
        let known = PROTOCOLS.iter().find(|(_, known, _)| *known == number);
        (number, known.map_or(0, |(.., header)| *header))
    };
    named.or_else(|| word.parse().ok().map(by_number)).ok_or_else(|| {
        #[allow(clippy::similar_names, reason = "names of what is named")]
        let names: Vec<&str> = PROTOCOLS.iter().map(|(name, ..)| *name).collect();
        format!(
            "{word:?} is no protocol: a description begins with one of {}, arp, or a number",
            names.join(", ")
        )
    })
}

/// An address, with a port or without.
fn end(word: Option<&str>, which: &str) -> Result<(IpAddr, Option<u16>), String> {
    let word = word.ok_or_else(|| format!("the {which} is missing"))?;
    if let Ok(both) = word.parse::<SocketAddr>() {
        return Ok((both.ip(), Some(both.port())));
    }
    let bare = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).unwrap_or(word);
    let wrong = |_| format!("the {which} {word:?} is no address, and no address with a port");
    Ok((bare.parse().map_err(wrong)?, None))
}

fn options<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        match word {
            "vlan" => options.vlans.push(number(word, words.next(), LARGEST_VLAN)?),
            "length" => options.length = Some(number(word, words.next(), u16::MAX)?.into()),
            "type" => options.icmp_type = Some(small(word, words.next())?),
            "code" => options.icmp_code = Some(small(word, words.next())?),
            "fragment" => options.fragment = Some(place(words.next())?),
            "noflags" => options.tcp_flags = Some(options.tcp_flags.unwrap_or(0)),
            other => options.tcp_flags = Some(options.tcp_flags.unwrap_or(0) | flags(other)?),
        }
    }
    if options.vlans.len() > MOST_VLANS {
        return Err(format!("a packet has at most {MOST_VLANS} VLAN tags here"));
    }
    Ok(options)
}

fn number(name: &str, word: Option<&str>, largest: u16) -> Result<u16, String> {
    let word = word.ok_or_else(|| format!("a number is missing behind {name}"))?;
    let parsed = word.parse().ok().filter(|number| *number <= largest);
    parsed.ok_or_else(|| format!("{word:?} behind {name} is no number from 0 to {largest}"))
}

fn small(name: &str, word: Option<&str>) -> Result<u8, String> {
    let number = number(name, word, u8::MAX.into())?;
    u8::try_from(number).map_err(|error| error.to_string())
}

fn place(word: Option<&str>) -> Result<FragmentPlace, String> {
    match word {
        Some("first") => Ok(FragmentPlace::First),
        Some("later") => Ok(FragmentPlace::Later),
        Some(other) => Err(format!("{other:?} behind fragment is neither first nor later")),
        None => Err("first or later is missing behind fragment".to_owned()),
    }
}

/// `syn`, or `syn,ack`.
fn flags(word: &str) -> Result<u8, String> {
    let bit = |flag: &str| TCP_FLAGS.iter().position(|known| *known == flag).map(|bit| 1 << bit);
    let bits: Option<Vec<u8>> = word.split(',').map(bit).collect();
    let unknown = || {
        format!(
            "{word:?} was not understood: behind the addresses may stand vlan, length, type, code, fragment, \
             and for TCP {} or noflags",
            TCP_FLAGS.join(", ")
        )
    };
    bits.map(|bits| bits.iter().fold(0, |all, bit| all | bit)).ok_or_else(unknown)
}

fn arp(options: Options) -> Result<Packet, String> {
    let Options { vlans, length: None, fragment: None, icmp_type: None, icmp_code: None, tcp_flags: None } =
        options
    else {
        return Err("behind arp only vlan may stand".to_owned());
    };
    let frame_length = ETHERNET_HEADER + VLAN_TAG * vlans.len() + 28;
    Ok(Packet {
        frame_length,
        ether_type: Some(0x0806),
        destination_mac: Some([0xff; 6]),
        vlans,
        ..Packet::default()
    })
}

/// What every IP packet has.
struct Ip {
    protocol: u8,
    /// Bytes of the smallest transport header.
    header: usize,
    source: IpAddr,
    destination: IpAddr,
}

impl Ip {
    fn packet(&self, ports: (Option<u16>, Option<u16>), options: &Options) -> Result<Packet, String> {
        let fragment = options.fragment.unwrap_or(FragmentPlace::Whole);
        let is_later = fragment == FragmentPlace::Later;
        let (ip_version, ether_type, ip_header) = self.version()?;
        let least = ip_header + if is_later { 0 } else { self.header };
        let length = options.length.unwrap_or(least);
        if length < least {
            return Err(format!("length {length} is less than the {least} bytes of the packet's headers"));
        }
        let (source_port, destination_port) = self.ports(ports, is_later)?;
        let l3_offset = ETHERNET_HEADER + VLAN_TAG * options.vlans.len();
        Ok(Packet {
            frame_length: l3_offset + length,
            malformed: None,
            destination_mac: Some([2, 0, 0, 0, 0, 2]),
            vlans: options.vlans.clone(),
            ether_type: Some(ether_type),
            l3_offset: Some(l3_offset),
            l3_length: Some(length),
            ip_version: Some(ip_version),
            source: Some(self.source),
            destination: Some(self.destination),
            protocol: Some(self.protocol),
            fragment: Some(fragment),
            l4_offset: (!is_later).then_some(l3_offset + ip_header),
            source_port,
            destination_port,
            tcp_flags: self.tcp_flags(options, is_later)?,
            icmp: self.icmp(options, is_later)?,
        })
    }

    fn version(&self) -> Result<(IpVersion, u16, usize), String> {
        match (self.source, self.destination, self.protocol) {
            (IpAddr::V4(_), IpAddr::V4(_), 58) => {
                Err("icmpv6 goes with IPv6 addresses; write icmp".to_owned())
            }
            (IpAddr::V6(_), IpAddr::V6(_), 1) => {
                Err("icmp goes with IPv4 addresses; write icmpv6".to_owned())
            }
            (IpAddr::V4(_), IpAddr::V4(_), _) => Ok((IpVersion::V4, 0x0800, 20)),
            (IpAddr::V6(_), IpAddr::V6(_), _) => Ok((IpVersion::V6, 0x86dd, 40)),
            _ => Err("one address is IPv4 and the other IPv6".to_owned()),
        }
    }

    fn ports(
        &self,
        ports: (Option<u16>, Option<u16>),
        is_later: bool,
    ) -> Result<(Option<u16>, Option<u16>), String> {
        let has_ports = matches!(self.protocol, TCP | 17 | 132);
        match ports {
            (None, None) if !has_ports || is_later => Ok(ports),
            (Some(_), Some(_)) if has_ports && !is_later => Ok(ports),
            _ if is_later => Err("a later fragment has no ports".to_owned()),
            _ if has_ports => {
                Err("both addresses need a port, as 192.0.2.1:4000 or [2001:db8::1]:4000".to_owned())
            }
            _ => Err("this protocol has no ports".to_owned()),
        }
    }

    /// Without a word about flags it is a SYN: people ask whether a connection is let in.
    fn tcp_flags(&self, options: &Options, is_later: bool) -> Result<Option<u8>, String> {
        match options.tcp_flags {
            Some(_) if self.protocol != TCP => Err("only TCP has flags".to_owned()),
            Some(_) if is_later => Err("a later fragment has no TCP flags".to_owned()),
            flags => Ok((self.protocol == TCP && !is_later).then_some(flags.unwrap_or(SYN))),
        }
    }

    fn icmp(&self, options: &Options, is_later: bool) -> Result<Option<(u8, u8)>, String> {
        let has_type = matches!(self.protocol, 1 | 58) && !is_later;
        match (options.icmp_type, options.icmp_code) {
            (None, None) if !has_type => Ok(None),
            (Some(kind), code) if has_type => Ok(Some((kind, code.unwrap_or(0)))),
            _ if has_type => Err("an ICMP packet needs its type, as type 8".to_owned()),
            _ if is_later => Err("a later fragment has no ICMP type".to_owned()),
            _ => Err("only ICMP has a type and a code".to_owned()),
        }
    }
}
