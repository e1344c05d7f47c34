//! What `etherparse` finds in a frame, in the parser's words.

use etherparse::{
    EtherType, IpNumber, Ipv4Slice, Ipv6ExtensionSlice, Ipv6Slice, NetSlice, SlicedPacket, TransportSlice,
};
use sluice_ebpf::flow::{Flow, Fragment};

/// Reads `frame`; `None` if etherparse refuses it.
pub fn read(frame: &[u8]) -> Option<Flow> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let mut flow = Flow::UNKNOWN;
    for (vlan, id) in flow.vlans.iter_mut().zip(packet.vlan_ids()) {
        *vlan = Some(id.value());
    }
    match &packet.net {
        Some(NetSlice::Ipv4(ipv4)) => network_4(frame, ipv4, &mut flow),
        Some(NetSlice::Ipv6(ipv6)) => network_6(frame, ipv6, &mut flow),
        _ => flow.ether_type = packet.payload_ether_type().map(|EtherType(number)| number),
    }
    match &packet.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            ports(tcp.slice(), &mut flow);
            flow.tcp_flags = Some(tcp.slice()[13]);
        }
        Some(TransportSlice::Udp(udp)) => ports(udp.slice(), &mut flow),
        Some(TransportSlice::Icmpv4(icmp)) => {
            flow.icmp = Some([icmp.type_u8(), icmp.code_u8()]);
        }
        Some(TransportSlice::Icmpv6(icmp)) => {
            flow.icmp = Some([icmp.type_u8(), icmp.code_u8()]);
        }
        _ => undecoded(&packet, &mut flow),
    }
    Some(flow)
}

/// SCTP, which etherparse does not know, and first fragments, in which it does not look for ports; the
/// host puts them together, so their ports count (R3).
fn undecoded(packet: &SlicedPacket<'_>, flow: &mut Flow) {
    let Some(payload) = packet.ip_payload() else {
        return;
    };
    if flow.fragment == Some(Fragment::Later) {
        return;
    }
    let bytes = payload.payload;
    if matches!(payload.ip_number.0, 6 | 17 | 132) && bytes.len() >= 4 {
        ports(bytes, flow);
    }
    if payload.ip_number.0 == 6 && bytes.len() >= 20 {
        flow.tcp_flags = Some(bytes[13]);
    }
    if matches!(payload.ip_number.0, 1 | 58) && bytes.len() >= 8 {
        flow.icmp = Some([bytes[0], bytes[1]]);
    }
}

fn network_4(frame: &[u8], ipv4: &Ipv4Slice<'_>, flow: &mut Flow) {
    let header = ipv4.header();
    flow.ether_type = Some(0x0800);
    flow.l3_offset = Some(offset(frame, header.slice()));
    flow.l3_length = Some(usize::from(header.total_len()));
    flow.ip_version = Some(4);
    flow.source = Some([u32::from_ne_bytes(header.source()), 0, 0, 0]);
    flow.destination = Some([u32::from_ne_bytes(header.destination()), 0, 0, 0]);
    let fragment = place(header.fragments_offset().value(), header.more_fragments());
    flow.fragment = Some(fragment);
    upper(frame, ipv4.payload_ip_number(), ipv4.payload().payload, fragment, flow);
}

fn network_6(frame: &[u8], ipv6: &Ipv6Slice<'_>, flow: &mut Flow) {
    let header = ipv6.header();
    flow.ether_type = Some(0x86dd);
    flow.l3_offset = Some(offset(frame, header.slice()));
    flow.l3_length = Some(40 + usize::from(header.payload_length()));
    flow.ip_version = Some(6);
    flow.source = Some(words(header.source()));
    flow.destination = Some(words(header.destination()));
    let fragment = ipv6
        .extensions()
        .clone()
        .into_iter()
        .find_map(|extension| match extension {
            Ipv6ExtensionSlice::Fragment(header) => {
                Some(place(header.fragment_offset().value(), header.more_fragments()))
            }
            _ => None,
        })
        .unwrap_or(Fragment::None);
    flow.fragment = Some(fragment);
    upper(frame, ipv6.payload().ip_number, ipv6.payload().payload, fragment, flow);
}

/// A later fragment has no transport header (R2).
fn upper(frame: &[u8], number: IpNumber, payload: &[u8], fragment: Fragment, flow: &mut Flow) {
    flow.protocol = Some(number.0);
    if fragment != Fragment::Later {
        flow.l4_offset = Some(offset(frame, payload));
    }
}

fn ports(transport: &[u8], flow: &mut Flow) {
    flow.source_port = Some(u16::from_be_bytes([transport[0], transport[1]]));
    flow.destination_port = Some(u16::from_be_bytes([transport[2], transport[3]]));
}

fn place(offset: u16, more: bool) -> Fragment {
    match (offset, more) {
        (0, false) => Fragment::None,
        (0, true) => Fragment::First,
        _ => Fragment::Later,
    }
}

/// Where `part`, a piece of `frame`, begins.
fn offset(frame: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - frame.as_ptr() as usize
}

fn words(address: [u8; 16]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(address.as_chunks().0) {
        *word = u32::from_ne_bytes(*bytes);
    }
    words
}
