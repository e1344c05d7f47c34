//! The two generic-netlink families that know more about devices: `netdev` and `ethtool`.
//!
//! Either may be absent on an old kernel; that is an answer, not an error.

use std::collections::HashMap;

use netlink_packet_core::DecodeError;

use super::attributes::{attributes, bytes_of, push, u16_of, u32_of, u64_of};
use super::error::LinksError;
use super::socket::{NetlinkSocket, Request};

/// Size of `struct genlmsghdr`.
pub(super) const HEADER_LENGTH: usize = 4;

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;

const NETDEV_CMD_DEV_GET: u8 = 1;
pub(super) const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;

/// A generic-netlink family of the running kernel.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Family {
    pub id: u16,
    /// Multicast groups by name.
    groups: HashMap<Vec<u8>, u32>,
}

impl Family {
    /// Looks `name` up. `None`: this kernel does not have it.
    pub fn resolve(socket: &mut NetlinkSocket, name: &str) -> Result<Option<Self>, LinksError> {
        let mut payload = header(CTRL_CMD_GETFAMILY, 1);
        push(&mut payload, CTRL_ATTR_FAMILY_NAME, &[name.as_bytes(), &[0]].concat());
        let request = Request {
            name: "CTRL_CMD_GETFAMILY",
            message_type: GENL_ID_CTRL,
            dump: false,
            change: 0,
            payload: &payload,
        };
        let mut family = Self::default();
        let result = socket.request(&request, &mut |reply| {
            family = Self::parse(reply)?;
            Ok(())
        });
        match result {
            Ok(_) => Ok(Some(family)),
            Err(error) if error.errno() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn group(&self, name: &str) -> Option<u32> {
        self.groups.get(name.as_bytes()).copied()
    }

    fn parse(reply: &[u8]) -> Result<Self, DecodeError> {
        let mut family = Self::default();
        for attribute in attributes(reply.get(HEADER_LENGTH..).unwrap_or_default()) {
            match attribute? {
                (CTRL_ATTR_FAMILY_ID, value) => family.id = u16_of(value).unwrap_or_default(),
                (CTRL_ATTR_MCAST_GROUPS, value) => family.groups = parse_groups(value)?,
                _ => {}
            }
        }
        Ok(family)
    }
}

fn parse_groups(value: &[u8]) -> Result<HashMap<Vec<u8>, u32>, DecodeError> {
    let mut groups = HashMap::new();
    for group in attributes(value) {
        let (mut name, mut id) = (None, None);
        for attribute in attributes(group?.1) {
            match attribute? {
                (CTRL_ATTR_MCAST_GRP_NAME, value) => name = Some(bytes_of(value).to_vec()),
                (CTRL_ATTR_MCAST_GRP_ID, value) => id = u32_of(value),
                _ => {}
            }
        }
        groups.extend(name.zip(id));
    }
    Ok(groups)
}

pub(super) fn header(command: u8, version: u8) -> Vec<u8> {
    vec![command, version, 0, 0]
}

/// The XDP features of one device, or of all, by interface index. They are hints only: whatever goes wrong,
/// a device whose features the kernel did not tell is one of which nothing is known.
pub(super) fn xdp_features(
    socket: &mut NetlinkSocket,
    netdev: u16,
    ifindex: Option<u32>,
) -> HashMap<u32, u64> {
    let mut payload = header(NETDEV_CMD_DEV_GET, 1);
    if let Some(ifindex) = ifindex {
        push(&mut payload, NETDEV_A_DEV_IFINDEX, &ifindex.to_ne_bytes());
    }
    let request = Request {
        name: "NETDEV_CMD_DEV_GET",
        message_type: netdev,
        dump: ifindex.is_none(),
        change: 0,
        payload: &payload,
    };
    let mut features = HashMap::new();
    let answer = socket.request(&request, &mut |reply| {
        features.extend(device_features(reply)?);
        Ok(())
    });
    // Also of an answer that broke off, what was told is true.
    drop(answer);
    features
}

fn device_features(reply: &[u8]) -> Result<Option<(u32, u64)>, DecodeError> {
    let (mut ifindex, mut features) = (None, None);
    for attribute in attributes(reply.get(HEADER_LENGTH..).unwrap_or_default()) {
        match attribute? {
            (NETDEV_A_DEV_IFINDEX, value) => ifindex = u32_of(value),
            (NETDEV_A_DEV_XDP_FEATURES, value) => features = u64_of(value),
            _ => {}
        }
    }
    Ok(ifindex.zip(features))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_family_with_its_groups() {
        let mut group = Vec::new();
        push(&mut group, CTRL_ATTR_MCAST_GRP_ID, &9_u32.to_ne_bytes());
        push(&mut group, CTRL_ATTR_MCAST_GRP_NAME, b"monitor\0");
        let mut groups = Vec::new();
        push(&mut groups, 1, &group);
        let mut reply = header(1, 2);
        push(&mut reply, CTRL_ATTR_FAMILY_NAME, b"ethtool\0");
        push(&mut reply, CTRL_ATTR_FAMILY_ID, &21_u16.to_ne_bytes());
        push(&mut reply, CTRL_ATTR_MCAST_GROUPS, &groups);
        let family = Family::parse(&reply).unwrap();
        assert_eq!((family.id, family.group("monitor"), family.group("mgmt")), (21, Some(9), None));
    }

    #[test]
    fn a_kernel_that_refuses_the_question_has_told_no_features() {
        let mut socket = NetlinkSocket::open(libc::NETLINK_GENERIC as isize, "generic netlink").unwrap();
        assert_eq!(xdp_features(&mut socket, 0x7fff, None), HashMap::new());
        assert_eq!(xdp_features(&mut socket, 0x7fff, Some(1)), HashMap::new());
        let netdev = Family::resolve(&mut socket, "netdev").unwrap();
        assert!(netdev.is_none_or(|netdev| netdev.id != 0x7fff), "and the socket still works");
    }

    #[test]
    fn features_belong_to_the_device_named_beside_them() {
        let mut reply = header(NETDEV_CMD_DEV_GET, 1);
        push(&mut reply, NETDEV_A_DEV_XDP_FEATURES, &0x23_u64.to_ne_bytes());
        assert_eq!(device_features(&reply).unwrap(), None);
        push(&mut reply, NETDEV_A_DEV_IFINDEX, &4_u32.to_ne_bytes());
        assert_eq!(device_features(&reply).unwrap(), Some((4, 0x23)));
        assert_eq!(device_features(&[1]).unwrap(), None);
    }
}
