//! Builds Ethernet frames, layer by layer, with right lengths and checksums. It checks nothing: a test may
//! stack what no standard allows.

mod checksum;
mod layer;

use layer::Layer;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A frame in the making. Layers are added from the outside in.
#[derive(Clone, Debug)]
pub struct Frame {
    destination: [u8; 6],
    source: [u8; 6],
    layers: Vec<Layer>,
    payload: Vec<u8>,
    minimum: usize,
}

impl Frame {
    /// An Ethernet header.
    #[must_use]
    pub fn ethernet(source: [u8; 6], destination: [u8; 6]) -> Self {
        Self { destination, source, layers: Vec::new(), payload: Vec::new(), minimum: 0 }
    }

    /// The `EtherType` in front of the payload when no network layer of this builder follows.
    #[must_use]
    pub fn ethertype(self, ethertype: u16) -> Self {
        self.with(Layer::EtherType(ethertype))
    }

    /// An 802.1Q tag. Identifier 0 is a priority tag.
    #[must_use]
    pub fn vlan(self, id: u16) -> Self {
        self.with(Layer::Vlan { ethertype: 0x8100, tag: id })
    }

    /// An 802.1ad service tag.
    #[must_use]
    pub fn service_vlan(self, id: u16) -> Self {
        self.with(Layer::Vlan { ethertype: 0x88a8, tag: id })
    }

    /// An IPv4 header without options, not a fragment.
    #[must_use]
    pub fn ipv4(self, source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        self.with(Layer::Ipv4 { source, destination, options: Vec::new(), fragment: 0 })
    }

    /// Options for the IPv4 header added last; filled up to a multiple of four bytes with zeros.
    #[must_use]
    pub fn ipv4_options(mut self, bytes: &[u8]) -> Self {
        if let Some(Layer::Ipv4 { options, .. }) = self.layers.last_mut() {
            options.extend_from_slice(bytes);
            options.resize(options.len().next_multiple_of(4), 0);
        }
        self
    }

    /// Makes the IPv4 packet added last a fragment. `offset` counts in units of eight bytes.
    #[must_use]
    pub fn ipv4_fragment(mut self, offset: u16, more: bool) -> Self {
        if let Some(Layer::Ipv4 { fragment, .. }) = self.layers.last_mut() {
            *fragment = offset | if more { 0x2000 } else { 0 };
        }
        self
    }

    /// An IPv6 header.
    #[must_use]
    pub fn ipv6(self, source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        self.with(Layer::Ipv6 { source, destination })
    }

    /// An IPv6 extension header of this kind (0 hop-by-hop, 43 routing, 51 authentication, 60 destination),
    /// `units` times eight bytes long.
    #[must_use]
    pub fn extension(self, kind: u8, units: u8) -> Self {
        self.with(Layer::Extension { kind, units })
    }

    /// An IPv6 fragment header. `offset` counts in units of eight bytes.
    #[must_use]
    pub fn ipv6_fragment(self, offset: u16, more: bool) -> Self {
        self.with(Layer::Ipv6Fragment { field: offset << 3 | u16::from(more) })
    }

    /// A UDP header.
    #[must_use]
    pub fn udp(self, source: u16, destination: u16) -> Self {
        self.with(Layer::Udp { source, destination })
    }

    /// A TCP header with these flags (2 is SYN).
    #[must_use]
    pub fn tcp(self, source: u16, destination: u16, flags: u8) -> Self {
        self.with(Layer::Tcp { source, destination, flags })
    }

    /// An SCTP common header.
    #[must_use]
    pub fn sctp(self, source: u16, destination: u16) -> Self {
        self.with(Layer::Sctp { source, destination })
    }

    /// An ICMP header, or `ICMPv6` after an IPv6 header.
    #[must_use]
    pub fn icmp(self, kind: u8, code: u8) -> Self {
        self.with(Layer::Icmp { kind, code })
    }

    /// The protocol number in front of the payload when no transport layer of this builder follows.
    #[must_use]
    pub fn protocol(self, number: u8) -> Self {
        self.with(Layer::Protocol(number))
    }

    /// What follows the last header.
    #[must_use]
    pub fn payload(mut self, bytes: &[u8]) -> Self {
        bytes.clone_into(&mut self.payload);
        self
    }

    /// Fills the finished frame with zeros up to so many bytes, as a device does (60 for Ethernet).
    #[must_use]
    pub fn pad_to(mut self, minimum: usize) -> Self {
        self.minimum = minimum;
        self
    }

    /// The bytes of the frame.
    #[must_use]
    pub fn build(&self) -> Vec<u8> {
        let mut frame = [self.destination, self.source].concat();
        frame.extend(layer::ethertype(&self.layers).to_be_bytes());
        frame.extend(layer::bytes(&self.layers, &self.payload, None));
        frame.resize(frame.len().max(self.minimum), 0);
        frame
    }

    fn with(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }
}
