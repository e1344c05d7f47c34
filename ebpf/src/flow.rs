//! What the parser knows of a frame.

use sluice_ebpf_common::{Malformed, tables::frame};

/// The Ethernet payload is IPv4, IPv6 or neither.
pub const ETHER_TYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const ETHER_TYPE_IPV6: u16 = 0x86dd;

/// Where a packet stands in its datagram.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// Not a fragment, or an atomic one.
    None = 0,
    /// The first fragment: ports may be visible.
    First = 1,
    /// A later fragment: it has no transport header.
    Later = 2,
}

/// What the parser knows of a frame. `None` is *unknown*: no rule that reads the field matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Where the frame is damaged; fields behind the damage are `None`.
    pub malformed: Option<Malformed>,
    /// VLAN ids, outermost first; 0 is a priority tag.
    pub vlans: [Option<u16>; 2],
    /// The type behind the tags; below 0x600 it is the length field of an 802.3 frame.
    pub ether_type: Option<u16>,
    /// Bytes from the start of the frame to the network header.
    pub l3_offset: Option<usize>,
    /// Bytes of the network packet: IPv4 total length, or IPv6 header plus payload.
    pub l3_length: Option<usize>,
    /// 4 or 6.
    pub ip_version: Option<u8>,
    /// Source address; an IPv4 address fills the first four bytes.
    pub source: Option<[u32; 4]>,
    /// Destination address, as `source`.
    pub destination: Option<[u32; 4]>,
    /// The upper protocol, behind all extension headers.
    pub protocol: Option<u8>,
    /// Where the packet stands in its datagram.
    pub fragment: Option<Fragment>,
    /// Bytes from the start of the frame to the transport header.
    pub l4_offset: Option<usize>,
    /// TCP, UDP and SCTP only.
    pub source_port: Option<u16>,
    /// TCP, UDP and SCTP only.
    pub destination_port: Option<u16>,
    /// The flags byte, CWR to FIN.
    pub tcp_flags: Option<u8>,
    /// ICMP and ICMPv6 type and code.
    pub icmp: Option<[u8; 2]>,
    /// What a frame without an IP packet is: an index of [`sluice_ebpf_common::tables::frame`].
    pub other: u8,
}

impl Flow {
    /// Nothing is known yet.
    pub const UNKNOWN: Self = Self {
        malformed: None,
        vlans: [None; 2],
        ether_type: None,
        l3_offset: None,
        l3_length: None,
        ip_version: None,
        source: None,
        destination: None,
        protocol: None,
        fragment: None,
        l4_offset: None,
        source_port: None,
        destination_port: None,
        tcp_flags: None,
        icmp: None,
        other: frame::OTHER,
    };

    /// Whether a parse of the linear head stands for the frame: nothing was amiss, and there was an IP
    /// packet, which told where the frame ends.
    #[inline(always)]
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.malformed.is_none() && self.protocol.is_some()
    }
}
