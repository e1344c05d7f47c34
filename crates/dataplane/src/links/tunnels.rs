//! The UDP port at which a tunnel device listens: VXLAN and Geneve say it with their link, `WireGuard` when its
//! own generic-netlink family is asked. Of what that family tells, keys included, the port alone is read.

use netlink_packet_core::DecodeError;

use super::attributes::{attributes, push, u16_of};
use super::error::LinksError;
use super::generic::{Family, HEADER_LENGTH, header};
use super::socket::{NetlinkSocket, Request};

pub(super) const WIREGUARD: &str = "wireguard";

const IFLA_VXLAN_PORT: u16 = 15;
const IFLA_GENEVE_PORT: u16 = 5;
const WG_CMD_GET_DEVICE: u8 = 0;
const WGDEVICE_A_IFINDEX: u16 = 1;
const WGDEVICE_A_LISTEN_PORT: u16 = 6;

/// The port in the `IFLA_INFO_DATA` of a link of this kind.
pub(super) fn port(kind: Option<&str>, data: &[u8]) -> Option<u16> {
    let wanted = match kind {
        Some("vxlan") => IFLA_VXLAN_PORT,
        Some("geneve") => IFLA_GENEVE_PORT,
        _ => return None,
    };
    let found = attributes(data).flatten().find(|(kind, _)| *kind == wanted);
    found
        .and_then(|(_, value)| value.first_chunk().copied())
        .map(u16::from_be_bytes)
        .filter(|port| *port != 0)
}

/// The port of a `WireGuard` device. `None`: it has none yet, it has gone, or the kernel knows no `WireGuard`.
pub(super) fn wireguard_port(socket: &mut NetlinkSocket, ifindex: u32) -> Result<Option<u16>, LinksError> {
    let Some(family) = Family::resolve(socket, WIREGUARD)? else { return Ok(None) };
    let mut payload = header(WG_CMD_GET_DEVICE, 1);
    push(&mut payload, WGDEVICE_A_IFINDEX, &ifindex.to_ne_bytes());
    let request = Request {
        name: "WG_CMD_GET_DEVICE",
        message_type: family.id,
        dump: true,
        change: 0,
        payload: &payload,
    };
    let mut port = None;
    let result = socket.request(&request, &mut |reply| {
        port = listen_port(reply)?.or(port);
        Ok(())
    });
    match result {
        Ok(_) => Ok(port),
        Err(error) if matches!(error.errno(), Some(libc::ENODEV | libc::EOPNOTSUPP)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn listen_port(reply: &[u8]) -> Result<Option<u16>, DecodeError> {
    for attribute in attributes(reply.get(HEADER_LENGTH..).unwrap_or_default()) {
        if let (WGDEVICE_A_LISTEN_PORT, value) = attribute? {
            return Ok(u16_of(value).filter(|port| *port != 0));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// What Linux 6.12 sends for `type vxlan id 42 dstport 8472 dev eth0`, shortened to a few attributes:
    /// id, TTL, TOS, learning, port (big-endian), checksums.
    const VXLAN: [u8; 48] = [
        8, 0, 1, 0, 42, 0, 0, 0, // IFLA_VXLAN_ID
        5, 0, 5, 0, 0, 0, 0, 0, // IFLA_VXLAN_TTL
        5, 0, 6, 0, 0, 0, 0, 0, // IFLA_VXLAN_TOS
        5, 0, 7, 0, 1, 0, 0, 0, // IFLA_VXLAN_LEARNING
        6, 0, 15, 0, 0x21, 0x18, 0, 0, // IFLA_VXLAN_PORT
        5, 0, 18, 0, 1, 0, 0, 0, // IFLA_VXLAN_UDP_CSUM
    ];
    /// `type geneve external`: port, then the flag for external.
    const GENEVE: [u8; 20] = [
        8, 0, 1, 0, 0, 0, 0, 0, // IFLA_GENEVE_ID
        6, 0, 5, 0, 0x17, 0xc1, 0, 0, // IFLA_GENEVE_PORT
        4, 0, 6, 0, // IFLA_GENEVE_COLLECT_METADATA
    ];
    /// The beginning of a `WG_CMD_GET_DEVICE` answer: header, port, mark, index, name.
    const WIREGUARD_DEVICE: [u8; 40] = [
        0, 1, 0, 0, // WG_CMD_GET_DEVICE, version 1
        6, 0, 6, 0, 0x6c, 0xca, 0, 0, // WGDEVICE_A_LISTEN_PORT
        8, 0, 7, 0, 0, 0, 0, 0, // WGDEVICE_A_FWMARK
        8, 0, 1, 0, 5, 0, 0, 0, // WGDEVICE_A_IFINDEX
        8, 0, 2, 0, b'w', b'g', b'0', 0, // WGDEVICE_A_IFNAME
        4, 0, 8, 0x80, // WGDEVICE_A_PEERS, none
    ];

    #[test]
    fn each_kind_has_its_own_attribute() {
        assert_eq!(port(Some("vxlan"), &VXLAN), Some(8472));
        assert_eq!(port(Some("geneve"), &GENEVE), Some(6081));
        assert_eq!(port(Some("vxlan"), &GENEVE), None);
        assert_eq!(port(Some("vlan"), &VXLAN), None);
        assert_eq!(port(None, &VXLAN), None);
    }

    #[test]
    fn port_zero_and_damaged_data_are_no_port() {
        let mut zero = VXLAN;
        zero[36..38].fill(0);
        assert_eq!(port(Some("vxlan"), &zero), None);
        assert_eq!(port(Some("vxlan"), &VXLAN[..37]), None);
        assert_eq!(port(Some("geneve"), &[]), None);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_port_of_wireguard_is_in_host_order() {
        assert_eq!(listen_port(&WIREGUARD_DEVICE).unwrap(), Some(51820));
        assert_eq!(listen_port(&WIREGUARD_DEVICE[..4]).unwrap(), None);
        assert_eq!(listen_port(&[]).unwrap(), None);
        assert!(!matches!(listen_port(&WIREGUARD_DEVICE[..9]), Ok(Some(_))), "half a port is no port");
    }

    #[test]
    fn a_kernel_without_wireguard_or_without_the_device_has_no_port() {
        let mut socket = NetlinkSocket::open(libc::NETLINK_GENERIC as isize, "generic netlink").unwrap();
        assert_eq!(wireguard_port(&mut socket, u32::MAX >> 1).unwrap(), None);
    }
}
