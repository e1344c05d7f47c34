//! What a packet shows to rules. It holds values only: nothing here reads bytes.

use std::net::IpAddr;

use serde::Serialize;
use sluice_ebpf_common::Malformed;

use self::as_people_write_it::{mac_text, reason_name, type_and_code, version_number};
use crate::IpVersion;

pub(super) const ETHER_TYPE_IPV4: u16 = 0x0800;
pub(super) const ETHER_TYPE_IPV6: u16 = 0x86dd;
pub(super) const ETHER_TYPE_ARP: u16 = 0x0806;
const ETHER_TYPES_OF_TAGS: [u16; 2] = [0x8100, 0x88a8];

/// What a packet shows. `None` is *unknown*: the packet does not have the field, or it lies behind damage.
/// Unknown never matches, neither plainly nor under `not`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Packet {
    /// Bytes of the whole frame, without frame check sequence.
    pub frame_length: usize,
    /// Where the frame is damaged; what lies behind the damage is unknown.
    #[serde(serialize_with = "reason_name")]
    pub malformed: Option<Malformed>,
    /// Destination MAC address.
    #[serde(serialize_with = "mac_text")]
    pub destination_mac: Option<[u8; 6]>,
    /// VLAN ids, outermost first; 0 is a priority tag.
    pub vlans: Vec<u16>,
    /// The type behind the tags; below 0x600 it is the length field of an 802.3 frame. In a frame that ends within
    /// its tags, or has too many, it is the type of the first tag that was not read.
    pub ether_type: Option<u16>,
    /// Bytes from the start of the frame to the IP header.
    pub l3_offset: Option<usize>,
    /// Bytes of the IP packet: IPv4 total length, or IPv6 header plus payload.
    pub l3_length: Option<usize>,
    /// IP version.
    #[serde(serialize_with = "version_number")]
    pub ip_version: Option<IpVersion>,
    /// Source address.
    pub source: Option<IpAddr>,
    /// Destination address.
    pub destination: Option<IpAddr>,
    /// The upper protocol, behind all extension headers.
    pub protocol: Option<u8>,
    /// Where the packet stands in its datagram.
    pub fragment: Option<FragmentPlace>,
    /// Bytes from the start of the frame to the transport header.
    pub l4_offset: Option<usize>,
    /// Source port of TCP, UDP and SCTP.
    pub source_port: Option<u16>,
    /// Destination port of TCP, UDP and SCTP.
    pub destination_port: Option<u16>,
    /// The flags byte of TCP, CWR to FIN.
    pub tcp_flags: Option<u8>,
    /// Type and code of ICMP and ICMPv6.
    #[serde(serialize_with = "type_and_code")]
    pub icmp: Option<(u8, u8)>,
}

/// Where a packet stands in its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum FragmentPlace {
    /// It is no fragment, or an atomic one.
    Whole,
    /// The first fragment: ports may be visible.
    First,
    /// A later fragment: it has no transport header.
    Later,
}

impl Packet {
    /// Whether the frame is an IP packet by its type. Unknown if the frame ends within its tags or has too many.
    pub(super) fn is_ip(&self) -> Option<bool> {
        let ether_type = self.ether_type.filter(|ether_type| !is_tag(*ether_type))?;
        Some(ether_type == ETHER_TYPE_IPV4 || ether_type == ETHER_TYPE_IPV6)
    }
}

/// Whether the EtherType is that of a VLAN tag. The host knows no others (0x9100 is none).
pub(super) fn is_tag(ether_type: u16) -> bool {
    ETHER_TYPES_OF_TAGS.contains(&ether_type)
}

#[allow(clippy::ref_option)] // serde calls these with a reference to the field.
mod as_people_write_it {
    use serde::{Serialize, Serializer};
    use sluice_ebpf_common::Malformed;

    use crate::IpVersion;

    pub fn reason_name<S: Serializer>(reason: &Option<Malformed>, serializer: S) -> Result<S::Ok, S::Error> {
        reason.map(Malformed::name).serialize(serializer)
    }

    pub fn mac_text<S: Serializer>(mac: &Option<[u8; 6]>, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = mac.map(|bytes| bytes.map(|byte| format!("{byte:02x}")).join(":"));
        pairs.serialize(serializer)
    }

    pub fn version_number<S: Serializer>(ip: &Option<IpVersion>, serializer: S) -> Result<S::Ok, S::Error> {
        let number = ip.map(|version| if version == IpVersion::V4 { 4 } else { 6 });
        number.serialize(serializer)
    }

    pub fn type_and_code<S: Serializer>(icmp: &Option<(u8, u8)>, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Icmp {
            r#type: u8,
            code: u8,
        }
        icmp.map(|(kind, code)| Icmp { r#type: kind, code }).serialize(serializer)
    }
}
