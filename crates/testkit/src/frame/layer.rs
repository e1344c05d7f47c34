//! One header each, and how it is written around what it carries.

use super::checksum;
use std::net::{Ipv4Addr, Ipv6Addr};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const ICMP_V6: u8 = 58;
const NO_NEXT_HEADER: u8 = 59;
const SCTP: u8 = 132;

#[derive(Clone, Debug)]
pub(super) enum Layer {
    EtherType(u16),
    Vlan { ethertype: u16, tag: u16 },
    Ipv4 { source: Ipv4Addr, destination: Ipv4Addr, options: Vec<u8>, fragment: u16 },
    Ipv6 { source: Ipv6Addr, destination: Ipv6Addr },
    Extension { kind: u8, units: u8 },
    Ipv6Fragment { field: u16 },
    Udp { source: u16, destination: u16 },
    Tcp { source: u16, destination: u16, flags: u8 },
    Sctp { source: u16, destination: u16 },
    Icmp { kind: u8, code: u8 },
    Protocol(u8),
}

/// All the layers and the payload. `network` is the IP header that encloses them.
pub(super) fn bytes(layers: &[Layer], payload: &[u8], network: Option<&Layer>) -> Vec<u8> {
    let Some((layer, rest)) = layers.split_first() else {
        return payload.to_vec();
    };
    let inside = if matches!(layer, Layer::Ipv4 { .. } | Layer::Ipv6 { .. }) { Some(layer) } else { network };
    let body = bytes(rest, payload, inside);
    let is_v6 = matches!(inside, Some(Layer::Ipv6 { .. }));
    layer.around(&body, network, ethertype(rest), protocol(rest, is_v6))
}

/// What an Ethernet or VLAN header says about these layers.
pub(super) fn ethertype(layers: &[Layer]) -> u16 {
    match layers.first() {
        Some(Layer::EtherType(ethertype) | Layer::Vlan { ethertype, .. }) => *ethertype,
        Some(Layer::Ipv4 { .. }) => 0x0800,
        Some(Layer::Ipv6 { .. }) => 0x86dd,
        _ => 0,
    }
}

/// What an IP or extension header says about these layers.
fn protocol(layers: &[Layer], is_v6: bool) -> u8 {
    match layers.first() {
        Some(Layer::Ipv4 { .. }) => 4,
        Some(Layer::Ipv6 { .. }) => 41,
        Some(Layer::Extension { kind: number, .. } | Layer::Protocol(number)) => *number,
        Some(Layer::Ipv6Fragment { .. }) => FRAGMENT,
        Some(Layer::Udp { .. }) => UDP,
        Some(Layer::Tcp { .. }) => TCP,
        Some(Layer::Sctp { .. }) => SCTP,
        Some(Layer::Icmp { .. }) => {
            if is_v6 {
                ICMP_V6
            } else {
                ICMP
            }
        }
        _ => NO_NEXT_HEADER,
    }
}

impl Layer {
    fn around(&self, body: &[u8], network: Option<&Layer>, ethertype: u16, next: u8) -> Vec<u8> {
        match self {
            Self::EtherType(_) | Self::Protocol(_) => body.to_vec(),
            Self::Vlan { tag, .. } => [&tag.to_be_bytes()[..], &ethertype.to_be_bytes(), body].concat(),
            Self::Ipv4 { source, destination, options, fragment } => {
                ipv4(*source, *destination, options, *fragment, next, body)
            }
            Self::Ipv6 { source, destination } => {
                let length = length(body.len());
                [&[0x60, 0, 0, 0][..], &length, &[next, 64], &source.octets(), &destination.octets(), body]
                    .concat()
            }
            Self::Extension { kind, units } => extension(*kind, *units, next, body),
            Self::Ipv6Fragment { field } => {
                [&[next, 0][..], &field.to_be_bytes(), &0x1234_5678u32.to_be_bytes(), body].concat()
            }
            Self::Udp { source, destination } => udp(*source, *destination, network, body),
            Self::Tcp { source, destination, flags } => tcp(*source, *destination, *flags, network, body),
            Self::Sctp { source, destination } => sctp(*source, *destination, body),
            Self::Icmp { kind, code } => icmp(*kind, *code, network, body),
        }
    }
}

/// A length field; a body that does not fit gets the largest value.
fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

fn ipv4(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    options: &[u8],
    fragment: u16,
    next: u8,
    body: &[u8],
) -> Vec<u8> {
    let header = 20 + options.len();
    let words = u8::try_from(header / 4).unwrap_or(15);
    let mut packet = vec![0x40 | words, 0];
    packet.extend(length(header + body.len()));
    packet.extend([0x12, 0x34]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, next, 0, 0]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(options);
    let sum = checksum::internet(&[&packet]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(body);
    packet
}

fn extension(kind: u8, units: u8, next: u8, body: &[u8]) -> Vec<u8> {
    let bytes = usize::from(units.max(1)) * 8;
    let mut header = vec![0; bytes];
    header[0] = next;
    // The authentication header counts in units of four bytes, minus two; the others in eight, minus one.
    header[1] = if kind == AUTHENTICATION { units.max(1) * 2 - 2 } else { units.max(1) - 1 };
    if kind != AUTHENTICATION && kind != 43 {
        // One PadN option that fills the header.
        header[2] = 1;
        header[3] = u8::try_from(bytes - 4).unwrap_or(u8::MAX);
    }
    header.extend(body);
    header
}

fn udp(source: u16, destination: u16, network: Option<&Layer>, body: &[u8]) -> Vec<u8> {
    let (source, destination) = (source.to_be_bytes(), destination.to_be_bytes());
    let mut segment = [&source[..], &destination, &length(8 + body.len()), &[0, 0], body].concat();
    // Zero means "no checksum": the other way to write zero takes its place.
    let sum = match checksum::transport(network, UDP, &segment) {
        0 => u16::MAX,
        sum => sum,
    };
    segment[6..8].copy_from_slice(&sum.to_be_bytes());
    segment
}

fn tcp(source: u16, destination: u16, flags: u8, network: Option<&Layer>, body: &[u8]) -> Vec<u8> {
    let mut segment = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    segment.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(body);
    let sum = checksum::transport(network, TCP, &segment);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    segment
}

fn sctp(source: u16, destination: u16, body: &[u8]) -> Vec<u8> {
    let (source, destination) = (source.to_be_bytes(), destination.to_be_bytes());
    let mut segment = [&source[..], &destination, &[0, 0, 0, 1], &[0; 4], body].concat();
    let sum = checksum::crc32c(&segment);
    segment[8..12].copy_from_slice(&sum.to_le_bytes());
    segment
}

fn icmp(kind: u8, code: u8, network: Option<&Layer>, body: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, code, 0, 0, 0, 1, 0, 1][..], body].concat();
    let sum = match network {
        Some(Layer::Ipv6 { .. }) => checksum::transport(network, ICMP_V6, &message),
        _ => checksum::internet(&[&message]),
    };
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}
