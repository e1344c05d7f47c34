//! A packet in one line, so that who asks about it sees what was understood.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

use super::Field;
use super::found::{frame, sentence, tcp_flags};
use crate::protocol_name;
use crate::reference::{FragmentPlace, Packet};

/// `UDP 192.0.2.1 port 4000 > 198.51.100.20 port 9, 28 bytes`.
impl Display for Packet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts =
            [Some(head(self)), vlans(self), transport(self), fragment(self), length(self), damage(self)];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

fn head(packet: &Packet) -> String {
    let (Some(source), Some(destination)) = (packet.source, packet.destination) else {
        return format!("a frame that is {}", frame(packet));
    };
    let protocol = packet.protocol.map_or_else(|| "unknown protocol".to_owned(), protocol_name);
    let (from, to) = (end(source, packet.source_port), end(destination, packet.destination_port));
    format!("{protocol} {from} > {to}")
}

fn end(address: IpAddr, port: Option<u16>) -> String {
    port.map_or_else(|| address.to_string(), |port| format!("{address} port {port}"))
}

fn vlans(packet: &Packet) -> Option<String> {
    let ids: Vec<String> = packet.vlans.iter().map(ToString::to_string).collect();
    (!ids.is_empty()).then(|| format!("VLAN {}", ids.join(" and inside it ")))
}

fn transport(packet: &Packet) -> Option<String> {
    let flags = packet.tcp_flags.map(|byte| format!("flags {}", tcp_flags(byte)));
    flags.or_else(|| packet.icmp.map(|(kind, code)| format!("type {kind} code {code}")))
}

fn fragment(packet: &Packet) -> Option<String> {
    let place = packet.fragment.filter(|place| *place != FragmentPlace::Whole);
    place.map(|_| sentence(Field::Fragment, packet).replace("the packet is ", ""))
}

fn length(packet: &Packet) -> Option<String> {
    packet.l3_length.map(|bytes| format!("{bytes} bytes"))
}

fn damage(packet: &Packet) -> Option<String> {
    packet.malformed.map(|reason| format!("malformed ({})", reason.name()))
}
