//! Valid packets of every shape that the parser knows, as `proptest` values, and their bytes.

use proptest::{collection::vec, prelude::*, sample::select};

/// A frame in parts.
#[derive(Clone, Debug)]
pub struct Packet {
    /// EtherType of the tag and its control word, outermost first.
    pub tags: Vec<(u16, u16)>,
    pub network: Network,
    /// Bytes behind the network packet, as short frames have them.
    pub padding: Vec<u8>,
}

#[derive(Clone, Debug)]
pub enum Network {
    Ipv4 { addresses: [u8; 8], options: Vec<u8>, fragment: Fragment, transport: Transport },
    Ipv6 { addresses: [u8; 32], extensions: Vec<Extension>, fragment: Option<Fragment>, transport: Transport },
    Other { ether_type: u16, payload: Vec<u8> },
}

/// The fields of the IPv4 header or of the IPv6 fragment header.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// In units of eight bytes.
    pub offset: u16,
    pub more: bool,
}

/// An IPv6 extension header; the body includes all but the first two bytes.
#[derive(Clone, Debug)]
pub struct Extension {
    pub kind: u8,
    pub body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub enum Transport {
    Tcp { ports: [u8; 4], flags: u8, options: Vec<u8>, payload: Vec<u8> },
    Udp { ports: [u8; 4], payload: Vec<u8> },
    Sctp { ports: [u8; 4], payload: Vec<u8> },
    Icmp { protocol: u8, kind: u8, code: u8, payload: Vec<u8> },
    Other { protocol: u8, payload: Vec<u8> },
}

pub const FRAGMENT_HEADER: u8 = 44;
pub const AUTHENTICATION: u8 = 51;

impl Packet {
    pub fn bytes(&self) -> Vec<u8> {
        let (ether_type, packet) = self.network.bytes();
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        for (tag, control) in &self.tags {
            frame.extend(tag.to_be_bytes());
            frame.extend(control.to_be_bytes());
        }
        frame.extend(ether_type.to_be_bytes());
        frame.extend(packet);
        frame.extend(&self.padding);
        frame
    }
}

impl Network {
    fn bytes(&self) -> (u16, Vec<u8>) {
        match self {
            Self::Ipv4 { addresses, options, fragment, transport } => {
                (0x0800, ipv4(*addresses, options, fragment, transport))
            }
            Self::Ipv6 { addresses, extensions, fragment, transport } => {
                (0x86dd, ipv6(addresses, extensions, fragment.as_ref(), transport))
            }
            Self::Other { ether_type, payload } => (*ether_type, payload.clone()),
        }
    }
}

fn ipv4(addresses: [u8; 8], options: &[u8], fragment: &Fragment, transport: &Transport) -> Vec<u8> {
    let (protocol, payload) = transport.bytes();
    let header = 20 + options.len();
    let word = fragment.offset | if fragment.more { 0x2000 } else { 0 };
    let mut packet = vec![0x40 | u8::try_from(header / 4).unwrap(), 0];
    packet.extend(u16::try_from(header + payload.len()).unwrap().to_be_bytes());
    packet.extend([0x12, 0x34]);
    packet.extend(word.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(addresses);
    packet.extend(options);
    packet.extend(payload);
    packet
}

fn ipv6(
    addresses: &[u8; 32],
    extensions: &[Extension],
    fragment: Option<&Fragment>,
    transport: &Transport,
) -> Vec<u8> {
    let (protocol, payload) = transport.bytes();
    let mut headers = extensions.to_vec();
    if let Some(Fragment { offset, more }) = fragment {
        let word = (offset << 3) | u16::from(*more);
        let body = [&word.to_be_bytes()[..], &[0, 0, 0, 7]].concat();
        headers.push(Extension { kind: FRAGMENT_HEADER, body });
    }
    let next: Vec<u8> = headers.iter().map(|header| header.kind).chain([protocol]).collect();
    let chain: Vec<u8> =
        headers.iter().zip(&next[1..]).flat_map(|(header, next)| header.bytes(*next)).collect();
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::try_from(chain.len() + payload.len()).unwrap().to_be_bytes());
    packet.extend([next[0], 64]);
    packet.extend(addresses);
    packet.extend(chain);
    packet.extend(payload);
    packet
}

impl Extension {
    fn bytes(&self, next: u8) -> Vec<u8> {
        let length = self.body.len() + 2;
        let size = match self.kind {
            FRAGMENT_HEADER => 0,
            AUTHENTICATION => length / 4 - 2,
            _ => length / 8 - 1,
        };
        [&[next, u8::try_from(size).unwrap()][..], &self.body].concat()
    }
}

impl Transport {
    /// The protocol number, and header and payload.
    fn bytes(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Tcp { ports, flags, options, payload } => {
                let data_offset = (u8::try_from(20 + options.len()).unwrap() / 4) << 4;
                let rest = [0, 0, 0, 1, 0, 0, 0, 0, data_offset, *flags, 0xfa, 0xf0, 0, 0, 0, 0];
                (6, [&ports[..], &rest, options, payload].concat())
            }
            Self::Udp { ports, payload } => {
                let length = u16::try_from(8 + payload.len()).unwrap().to_be_bytes();
                (17, [&ports[..], &length, &[0, 0], payload].concat())
            }
            Self::Sctp { ports, payload } => (132, [&ports[..], &[0; 8], payload].concat()),
            Self::Icmp { protocol, kind, code, payload } => {
                (*protocol, [&[*kind, *code, 0, 0, 0, 0, 0, 0], &payload[..]].concat())
            }
            Self::Other { protocol, payload } => (*protocol, payload.clone()),
        }
    }
}

pub fn packets() -> impl Strategy<Value = Packet> {
    let tag = (select(vec![0x8100, 0x88a8]), any::<u16>());
    let network = prop_oneof![4 => ipv4s(), 4 => ipv6s(), 1 => others()];
    (vec(tag, 0..=2), network, vec(any::<u8>(), 0..20)).prop_map(|(tags, network, padding)| Packet {
        tags,
        network,
        padding,
    })
}

fn ipv4s() -> impl Strategy<Value = Network> {
    // etherparse looks behind an authentication header in IPv4: see `differences`.
    let transport = transports(1).prop_filter("no AH in IPv4", |transport| !transport.is(AUTHENTICATION));
    (any::<[u8; 8]>(), multiples(0..=10, 4), fragments(), transport).prop_map(
        |(addresses, options, fragment, transport)| Network::Ipv4 { addresses, options, fragment, transport },
    )
}

fn ipv6s() -> impl Strategy<Value = Network> {
    // etherparse takes a hop-by-hop header in the first place only, and walks on behind later fragments
    // (see `differences`), so these are generated elsewhere.
    let first = proptest::option::of(options_header(0));
    let more = vec(prop_oneof![options_header(43), options_header(60), authentication()], 0..6);
    let extensions = (first, more).prop_map(|(first, more)| first.into_iter().chain(more).collect());
    let transport = transports(58).prop_filter("no extension header", |transport| {
        ![0, 43, FRAGMENT_HEADER, AUTHENTICATION, 60].iter().any(|kind| transport.is(*kind))
    });
    (any::<[u8; 32]>(), extensions, proptest::option::of(fragments()), transport).prop_map(
        |(addresses, extensions, fragment, transport)| Network::Ipv6 {
            addresses,
            extensions,
            fragment,
            transport,
        },
    )
}

fn others() -> impl Strategy<Value = Network> {
    // etherparse reads on in tags, ARP and MACsec: see `differences`.
    let read_on = [0x0800, 0x86dd, 0x8100, 0x88a8, 0x9100, 0x0806, 0x88e5];
    let ether_type = any::<u16>().prop_filter("nothing read on", move |number| !read_on.contains(number));
    (ether_type, vec(any::<u8>(), 0..60))
        .prop_map(|(ether_type, payload)| Network::Other { ether_type, payload })
}

fn fragments() -> impl Strategy<Value = Fragment> {
    // Each bit of the offset alone makes a later fragment.
    let offset = prop_oneof![0..0x2000_u16, (0..13).prop_map(|bit| 1_u16 << bit)];
    let some = (offset, any::<bool>());
    let whole_or_first = (Just(0), any::<bool>());
    prop_oneof![2 => Just((0, false)), 1 => whole_or_first, 1 => some]
        .prop_map(|(offset, more)| Fragment { offset, more })
}

fn options_header(kind: u8) -> impl Strategy<Value = Extension> {
    // Mostly short; sometimes of the largest length, 2048 bytes.
    prop_oneof![20 => 0..4_usize, 1 => Just(255)]
        .prop_flat_map(|units| vec(any::<u8>(), 6 + units * 8))
        .prop_map(move |body| Extension { kind, body })
}

fn authentication() -> impl Strategy<Value = Extension> {
    (1..6_usize)
        .prop_flat_map(|words| vec(any::<u8>(), 6 + words * 4))
        .prop_map(|body| Extension { kind: AUTHENTICATION, body })
}

fn transports(icmp: u8) -> impl Strategy<Value = Transport> {
    let payload = || vec(any::<u8>(), 0..40);
    prop_oneof![
        (any::<[u8; 4]>(), any::<u8>(), multiples(0..=10, 4), payload())
            .prop_map(|(ports, flags, options, payload)| Transport::Tcp { ports, flags, options, payload }),
        (any::<[u8; 4]>(), payload()).prop_map(|(ports, payload)| Transport::Udp { ports, payload }),
        (any::<[u8; 4]>(), payload()).prop_map(|(ports, payload)| Transport::Sctp { ports, payload }),
        icmps(icmp),
        any::<u8>()
            .prop_filter("not one that is read", |number| ![1, 2, 6, 17, 58, 132].contains(number))
            .prop_flat_map(
                move |protocol| payload().prop_map(move |payload| Transport::Other { protocol, payload })
            ),
    ]
}

fn icmps(protocol: u8) -> impl Strategy<Value = Transport> {
    // etherparse insists on the length of ICMP timestamps: see `differences`.
    (any::<u8>(), any::<u8>(), vec(any::<u8>(), 0..40))
        .prop_filter("no timestamp", |(kind, ..)| ![13, 14].contains(kind))
        .prop_map(move |(kind, code, payload)| Transport::Icmp { protocol, kind, code, payload })
}

/// Some bytes, in multiples of `unit`.
fn multiples(count: std::ops::RangeInclusive<usize>, unit: usize) -> impl Strategy<Value = Vec<u8>> {
    count.prop_flat_map(move |count| vec(any::<u8>(), count * unit))
}

impl Transport {
    fn is(&self, number: u8) -> bool {
        matches!(self, Self::Other { protocol, .. } if *protocol == number)
    }
}
