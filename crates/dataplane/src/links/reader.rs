//! Asks the kernel for its links: one dump, then what the dump does not carry.
//!
//! A link that is missing from a list looks as if it were gone, and what it runs would be taken off. So the
//! dump is whole or an error; of what is asked beside it, link by link, all may be unknown but the port of a tunnel,
//! by which the node may be reached.

use std::collections::HashMap;

use netlink_packet_core::DecodeError;
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};

use super::attributes::push;
use super::error::LinksError;
use super::ethtool::{Driver, Ethtool};
use super::generic::{Family, xdp_features};
use super::link::Link;
use super::message::{HEADER_LENGTH, LinkMessage};
use super::routing::{self, ADDRESS_HEADER, ROUTE_HEADER, Routing};
use super::socket::{Answer, NetlinkSocket, Request};
use super::tunnels::{self, WIREGUARD};

const IFLA_EXT_MASK: u16 = 29;
/// Leaves out the IPv4 and IPv6 statistics, the bulk of a link message.
const RTEXT_FILTER_SKIP_STATS: u32 = 1 << 3;
const ATTEMPTS: usize = 8;

/// What a driver's name was asked of. An index may be given to another device after the first is gone.
type DriverKey = (u32, Option<String>, Option<String>);

/// The sockets of one network namespace, and the drivers' names, which never change while a device lives.
pub(super) struct Reader {
    route: NetlinkSocket,
    generic: NetlinkSocket,
    netdev: Option<u16>,
    ethtool: Ethtool,
    drivers: HashMap<DriverKey, Driver>,
}

impl Reader {
    pub fn open() -> Result<Self, LinksError> {
        let mut generic = NetlinkSocket::open(NETLINK_GENERIC, "generic netlink")?;
        Ok(Self {
            netdev: Family::resolve(&mut generic, "netdev").ok().flatten().map(|family| family.id),
            route: NetlinkSocket::open(NETLINK_ROUTE, "route netlink")?,
            ethtool: Ethtool::open()?,
            drivers: HashMap::new(),
            generic,
        })
    }

    /// All links, in the order of their indices.
    pub fn links(&mut self) -> Result<Vec<Link>, LinksError> {
        let mut messages = self.dump()?;
        messages.sort_by_key(|message| message.link.ifindex);
        messages.dedup_by_key(|message| message.link.ifindex);
        let features = self.xdp_features(None);
        let mut drivers = HashMap::new();
        let links: Result<Vec<Link>, LinksError> =
            messages.into_iter().map(|message| self.complete(message, &features, &mut drivers)).collect();
        self.drivers = drivers;
        links
    }

    /// Addresses and default routes, sorted, each once.
    pub fn routing(&mut self) -> Result<Routing, LinksError> {
        let mut found = Routing::default();
        let request = all("RTM_GETADDR", libc::RTM_GETADDR, &[0; ADDRESS_HEADER]);
        self.collect(&request, &mut found.addresses, |reply| {
            Ok(routing::address(reply)?.into_iter().collect())
        })?;
        for family in [libc::AF_INET, libc::AF_INET6] {
            let mut payload = [0; ROUTE_HEADER];
            payload[0] = u8::try_from(family).unwrap_or_default();
            let mut gateways = Vec::new();
            let request = all("RTM_GETROUTE", libc::RTM_GETROUTE, &payload);
            self.collect(&request, &mut gateways, routing::gateways)?;
            found.gateways.extend(gateways);
        }
        found.addresses.sort_unstable();
        found.addresses.dedup();
        found.gateways.sort_unstable();
        found.gateways.dedup();
        Ok(found)
    }

    /// One link. `None`: there is no such index.
    pub fn link(&mut self, ifindex: u32) -> Result<Option<Link>, LinksError> {
        let mut found = None;
        let payload = link_request(ifindex);
        let request = Request {
            name: "RTM_GETLINK",
            message_type: libc::RTM_GETLINK,
            dump: false,
            change: 0,
            payload: &payload,
        };
        let result = self.route.request(&request, &mut |reply| {
            found = Some(LinkMessage::parse(reply)?);
            Ok(())
        });
        match (result, found) {
            (Err(error), _) if error.errno() == Some(libc::ENODEV) => Ok(None),
            (Err(error), _) => Err(error),
            (Ok(_), None) => Ok(None),
            (Ok(_), Some(message)) => {
                let features = self.xdp_features(Some(ifindex));
                let mut drivers = HashMap::new();
                let link = self.complete(message, &features, &mut drivers);
                self.drivers.extend(drivers);
                link.map(Some)
            }
        }
    }

    fn dump(&mut self) -> Result<Vec<LinkMessage>, LinksError> {
        let (payload, mut messages) = (link_request(0), Vec::new());
        let request = all("RTM_GETLINK", libc::RTM_GETLINK, &payload);
        self.collect(&request, &mut messages, |reply| Ok(vec![LinkMessage::parse(reply)?]))?;
        Ok(messages)
    }

    /// Reads a whole dump into `into`.
    fn collect<T>(
        &mut self,
        request: &Request<'_>,
        into: &mut Vec<T>,
        parse: impl Fn(&[u8]) -> Result<Vec<T>, DecodeError>,
    ) -> Result<(), LinksError> {
        for _ in 0..ATTEMPTS {
            into.clear();
            let answer = self.route.request(request, &mut |reply| {
                into.extend(parse(reply)?);
                Ok(())
            })?;
            if answer == Answer::Complete {
                return Ok(());
            }
        }
        Err(LinksError::KeptChanging)
    }

    fn xdp_features(&mut self, ifindex: Option<u32>) -> HashMap<u32, u64> {
        let netdev = self.netdev;
        netdev.map(|netdev| xdp_features(&mut self.generic, netdev, ifindex)).unwrap_or_default()
    }

    fn complete(
        &mut self,
        message: LinkMessage,
        features: &HashMap<u32, u64>,
        drivers: &mut HashMap<DriverKey, Driver>,
    ) -> Result<Link, LinksError> {
        let LinkMessage { mut link, kernel_name, parent_device, .. } = message;
        let key = (link.ifindex, link.kind.clone(), parent_device);
        // A device that is being reset does not answer; that must not look like another driver.
        let known = self.drivers.get(&key).cloned();
        if let Some(driver) = known.or_else(|| self.ethtool.driver(&kernel_name)) {
            link.bus_address = bus_address(link.bus_address, &driver);
            link.driver = Some(driver.name.clone()).filter(|name| !name.is_empty());
            drivers.insert(key, driver);
        }
        link.channels = self.ethtool.channels(&kernel_name);
        link.xdp_features = features.get(&link.ifindex).copied();
        if link.kind.as_deref() == Some(WIREGUARD) {
            link.tunnel_port = tunnels::wireguard_port(&mut self.generic, link.ifindex)?;
        }
        Ok(link)
    }
}

/// A request for all objects.
fn all<'a>(name: &'static str, message_type: u16, payload: &'a [u8]) -> Request<'a> {
    Request { name, message_type, dump: true, change: 0, payload }
}

/// `struct ifinfomsg` for one link, or for all if `ifindex` is 0.
fn link_request(ifindex: u32) -> Vec<u8> {
    let mut payload = vec![0; HEADER_LENGTH];
    payload[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    push(&mut payload, IFLA_EXT_MASK, &RTEXT_FILTER_SKIP_STATS.to_ne_bytes());
    payload
}

/// A virtio NIC's parent is the virtio device; its driver tells the PCI address behind. Kernels before 5.14
/// do not name the parent at all.
fn bus_address(parent: Option<String>, driver: &Driver) -> Option<String> {
    if is_pci_address(&driver.bus_info) { Some(driver.bus_info.clone()) } else { parent }
}

/// `0000:3b:00.1`
fn is_pci_address(text: &str) -> bool {
    let hexadecimal = |part: &str, lengths: &[usize]| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = text.split([':', '.']).collect();
    matches!(parts[..], [domain, bus, device, function]
        if hexadecimal(domain, &[4, 5, 6, 7, 8]) && hexadecimal(bus, &[2]) && hexadecimal(device, &[2])
            && hexadecimal(function, &[1]) && text.ends_with(&format!(".{function}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn links_are_read_though_nothing_is_told_beside_them() {
        let mut reader = Reader::open().unwrap();
        reader.netdev = Some(0x7fff);
        let links = reader.links().unwrap();
        let loopback = links.iter().find(|link| link.name == "lo").unwrap();
        assert_eq!(loopback.xdp_features, None);
        assert_eq!(reader.link(loopback.ifindex).unwrap().unwrap().name, "lo");
    }

    #[test]
    fn pci_addresses_are_told_from_other_bus_texts() {
        for good in ["0000:3b:00.1", "10000:e1:00.0"] {
            assert!(is_pci_address(good), "{good}");
        }
        for bad in
            ["", "N/A", "tap", "virtio1", "usb-0000:00:14.0-1", "0000:3b:00:1", "3b:00.1", "0000.3b.00:1"]
        {
            assert!(!is_pci_address(bad), "{bad}");
        }
    }

    #[test]
    fn the_pci_address_behind_a_virtio_device_wins() {
        let driver = |bus_info: &str| Driver { name: "virtio_net".into(), bus_info: bus_info.into() };
        let parent = Some("virtio0".to_owned());
        assert_eq!(bus_address(parent.clone(), &driver("0000:00:05.0")).as_deref(), Some("0000:00:05.0"));
        assert_eq!(bus_address(parent, &driver("virtio-mmio")).as_deref(), Some("virtio0"));
        assert_eq!(bus_address(None, &driver("N/A")), None);
    }
}
