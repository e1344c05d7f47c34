//! The addresses of a network namespace and its next hops towards everywhere else, as the kernel says them now.
//! Pure: from the bytes of `RTM_NEWADDR` and `RTM_NEWROUTE` messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::DecodeError;

use super::attributes::{Attribute, attributes, u32_of};

/// Size of `struct ifaddrmsg`.
pub(super) const ADDRESS_HEADER: usize = 8;
/// Size of `struct rtmsg`.
pub(super) const ROUTE_HEADER: usize = 12;
/// Size of `struct rtnexthop`.
const NEXT_HOP_HEADER: usize = 8;
/// Scope of addresses that no other host can reach: those of the loopback.
const RT_SCOPE_HOST: u8 = 254;
const RTN_UNICAST: u8 = 1;

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_MULTIPATH: u16 = 9;
const RTA_VIA: u16 = 18;

/// What a namespace is on the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    /// Its addresses, without those of the loopback.
    pub addresses: Vec<Address>,
    /// The next hops of its default routes, of all tables.
    pub gateways: Vec<Gateway>,
}

/// An address of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The address.
    pub address: IpAddr,
    /// Length of the prefix that is on the link.
    pub prefix_length: u8,
}

/// A next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gateway {
    /// Its address.
    pub address: IpAddr,
    /// The device that leads to it.
    pub ifindex: u32,
}

/// Reads `struct ifaddrmsg` and what is behind it. `None`: nobody else can reach it.
pub(super) fn address(payload: &[u8]) -> Result<Option<Address>, DecodeError> {
    let Some((header, rest)) = payload.split_first_chunk::<ADDRESS_HEADER>() else {
        return Err(too_short("an address", payload));
    };
    let [_, prefix_length, _, scope, ..] = *header;
    let (mut local, mut address) = (None, None);
    for attribute in attributes(rest) {
        match attribute? {
            // Of a point-to-point device the other is the far end's.
            (IFA_LOCAL, value) => local = ip(value),
            (IFA_ADDRESS, value) => address = ip(value),
            _ => {}
        }
    }
    let address = local.or(address).filter(|_| scope != RT_SCOPE_HOST);
    Ok(address.map(|address| Address { address, prefix_length }))
}

/// The next hops of an `RTM_NEWROUTE` message, if it is a default route.
pub(super) fn gateways(payload: &[u8]) -> Result<Vec<Gateway>, DecodeError> {
    let Some((header, rest)) = payload.split_first_chunk::<ROUTE_HEADER>() else {
        return Err(too_short("a route", payload));
    };
    let [_, destination_length, _, _, _, _, _, kind, ..] = *header;
    if destination_length != 0 || kind != RTN_UNICAST {
        return Ok(Vec::new());
    }
    let mut gateways = Vec::new();
    let (mut address, mut ifindex) = (None, None);
    for attribute in attributes(rest) {
        match attribute? {
            (RTA_OIF, value) => ifindex = u32_of(value),
            (RTA_MULTIPATH, value) => gateways.extend(next_hops(value)?),
            attribute => address = gateway(attribute).or(address),
        }
    }
    gateways.extend(join(address, ifindex));
    Ok(gateways)
}

/// The list of `struct rtnexthop`, each with attributes of its own.
fn next_hops(mut rest: &[u8]) -> Result<Vec<Gateway>, DecodeError> {
    let mut gateways = Vec::new();
    while let Some(header) = rest.first_chunk::<NEXT_HOP_HEADER>() {
        let [low, high, _, _, i0, i1, i2, i3] = *header;
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let hop = rest.get(NEXT_HOP_HEADER..length).ok_or_else(|| too_short("a next hop", rest))?;
        let mut address = None;
        for attribute in attributes(hop) {
            address = gateway(attribute?).or(address);
        }
        gateways.extend(join(address, Some(u32::from_ne_bytes([i0, i1, i2, i3]))));
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(gateways)
}

/// The address in the attribute for a next hop, be it of the route's own family or of the other.
fn gateway((kind, value): Attribute<'_>) -> Option<IpAddr> {
    match kind {
        RTA_GATEWAY => ip(value),
        // `struct rtvia`: the family, then the address.
        RTA_VIA => ip(value.get(2..)?),
        _ => None,
    }
}

fn join(address: Option<IpAddr>, ifindex: Option<u32>) -> Option<Gateway> {
    let (address, ifindex) = (address?, ifindex?);
    (!address.is_unspecified()).then_some(Gateway { address, ifindex })
}

fn ip(value: &[u8]) -> Option<IpAddr> {
    match value.len() {
        4 => value.first_chunk::<4>().map(|bytes| Ipv4Addr::from(*bytes).into()),
        16 => value.first_chunk::<16>().map(|bytes| Ipv6Addr::from(*bytes).into()),
        _ => None,
    }
}

fn too_short(what: &str, payload: &[u8]) -> DecodeError {
    format!("a message about {what} of {} bytes is too short", payload.len()).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::attributes::push;
    use super::*;

    fn route(destination_length: u8, kind: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut payload = vec![2, destination_length, 0, 0, 254, 3, 0, kind, 0, 0, 0, 0];
        attributes.iter().for_each(|(kind, value)| push(&mut payload, *kind, value));
        payload
    }

    fn gateway(address: &str, ifindex: u32) -> Gateway {
        Gateway { address: address.parse().unwrap(), ifindex }
    }

    #[test]
    fn the_own_address_of_a_point_to_point_device_is_the_local_one() {
        let mut payload = vec![2, 32, 0, 0, 3, 0, 0, 0];
        push(&mut payload, IFA_ADDRESS, &[10, 0, 0, 2]);
        push(&mut payload, IFA_LOCAL, &[10, 0, 0, 1]);
        let found = address(&payload).unwrap().unwrap();
        assert_eq!((found.address.to_string().as_str(), found.prefix_length), ("10.0.0.1", 32));
    }

    #[test]
    fn addresses_of_the_host_alone_do_not_count() {
        let mut payload = vec![10, 128, 0, RT_SCOPE_HOST, 1, 0, 0, 0];
        push(&mut payload, IFA_ADDRESS, &Ipv6Addr::LOCALHOST.octets());
        assert_eq!(address(&payload).unwrap(), None);
        assert!(address(&payload[..7]).is_err());
    }

    #[test]
    fn only_default_routes_have_gateways() {
        let attributes: [(u16, &[u8]); 2] = [(RTA_GATEWAY, &[192, 0, 2, 1]), (RTA_OIF, &2_u32.to_ne_bytes())];
        assert_eq!(gateways(&route(0, RTN_UNICAST, &attributes)).unwrap(), [gateway("192.0.2.1", 2)]);
        assert_eq!(gateways(&route(8, RTN_UNICAST, &attributes)).unwrap(), []);
        assert_eq!(gateways(&route(0, 6, &attributes)).unwrap(), [], "a blackhole");
        assert_eq!(gateways(&route(0, RTN_UNICAST, &attributes[1..])).unwrap(), [], "on link");
    }

    #[test]
    fn a_gateway_of_the_other_family_is_one() {
        let via = [&[10, 0], Ipv6Addr::LOCALHOST.octets().as_slice()].concat();
        let attributes: [(u16, &[u8]); 2] = [(RTA_OIF, &2_u32.to_ne_bytes()), (RTA_VIA, &via)];
        assert_eq!(gateways(&route(0, RTN_UNICAST, &attributes)).unwrap(), [gateway("::1", 2)]);
    }

    #[test]
    fn every_path_of_a_route_counts() {
        let mut paths = Vec::new();
        for (ifindex, last) in [(2_u8, 1), (3, 2)] {
            paths.extend([16, 0, 0, 0, ifindex, 0, 0, 0]);
            push(&mut paths, RTA_GATEWAY, &[192, 0, 2, last]);
        }
        let both = [gateway("192.0.2.1", 2), gateway("192.0.2.2", 3)];
        assert_eq!(gateways(&route(0, RTN_UNICAST, &[(RTA_MULTIPATH, &paths)])).unwrap(), both);
        paths[0] = 200;
        assert!(gateways(&route(0, RTN_UNICAST, &[(RTA_MULTIPATH, &paths)])).is_err());
        paths[0] = 0;
        assert!(gateways(&route(0, RTN_UNICAST, &[(RTA_MULTIPATH, &paths)])).is_err(), "and it ends");
    }
}
