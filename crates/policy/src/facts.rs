//! What a node says about its network devices, as values. Who reads them from the kernel is no
//! concern of this crate.

mod node;

use serde::{Deserialize, Serialize};

pub use node::{Node, NodeFacts, SetFacts};

/// `ARPHRD_ETHER`: frames with an Ethernet header.
pub(crate) const LINK_TYPE_ETHER: u16 = 1;
/// `ARPHRD_LOOPBACK`: the loopback device, whose frames carry an Ethernet header too.
pub(crate) const LINK_TYPE_LOOPBACK: u16 = 772;

/// One network device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LinkFacts {
    /// Interface index.
    pub ifindex: u32,
    /// Name.
    pub name: String,
    /// Alternative names.
    pub alternative_names: Vec<String>,
    /// `IFLA_INFO_KIND`, such as `veth` or `bond`. Absent for physical NICs and the loopback.
    pub kind: Option<String>,
    /// `ARPHRD_*`.
    pub link_type: u16,
    /// Kernel driver.
    pub driver: Option<String>,
    /// PCI address, or the address on another bus.
    pub bus_address: Option<String>,
    /// MTU in bytes.
    pub mtu: u32,
    /// Whether the device is administratively up.
    pub up: bool,
    /// The bond, bridge or the like that this device is a port of.
    pub master: Option<Master>,
    /// Index of the device below (of a VLAN, for example) in the same network namespace.
    pub parent: Option<u32>,
    /// Name of the device below, if it is known.
    pub parent_name: Option<String>,
    /// VLAN id of a VLAN device, if it is known.
    pub vlan_id: Option<u16>,
    /// Whether the other end of a veth pair is in another network namespace.
    pub peer_in_other_namespace: bool,
    /// Channels, if the driver says.
    pub channels: Option<Channels>,
    /// Receive queues.
    pub rx_queues: u32,
    /// Transmit queues.
    pub tx_queues: u32,
    /// `NETDEV_XDP_ACT_*` of the `netdev` family; absent where the kernel cannot say.
    pub xdp_features: Option<u64>,
}

/// The device that another is a port of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Master {
    /// Its interface index.
    pub ifindex: u32,
    /// Its kind, such as `bridge`.
    pub kind: Option<String>,
}

/// Numbers of channels, as `ethtool --show-channels` has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names are ethtool's own and say all there is")]
pub struct Channels {
    pub rx: u32,
    pub tx: u32,
    pub other: u32,
    pub combined: u32,
    pub max_rx: u32,
    pub max_tx: u32,
    pub max_other: u32,
    pub max_combined: u32,
}

impl Default for LinkFacts {
    /// An Ethernet device that is up and about which nothing else is known.
    fn default() -> Self {
        Self {
            ifindex: 0,
            name: String::new(),
            alternative_names: Vec::new(),
            kind: None,
            link_type: LINK_TYPE_ETHER,
            driver: None,
            bus_address: None,
            mtu: 1500,
            up: true,
            master: None,
            parent: None,
            parent_name: None,
            vlan_id: None,
            peer_in_other_namespace: false,
            channels: None,
            rx_queues: 1,
            tx_queues: 1,
            xdp_features: None,
        }
    }
}

impl LinkFacts {
    /// Whether frames of the device begin with an Ethernet header, which the parser needs.
    #[must_use]
    pub fn has_ethernet_header(&self) -> bool {
        matches!(self.link_type, LINK_TYPE_ETHER | LINK_TYPE_LOOPBACK)
    }

    /// Whether the device is a NIC rather than something that the kernel made up.
    #[must_use]
    pub fn is_physical(&self) -> bool {
        self.kind.is_none() && self.link_type == LINK_TYPE_ETHER
    }

    pub(crate) fn is_kind(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }

    /// Bonds, in the old and the new make.
    pub(crate) fn is_bond(&self) -> bool {
        self.is_kind("bond") || self.is_kind("team")
    }
}
