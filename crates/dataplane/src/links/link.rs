//! What the kernel says of one network device, as plain values.
//!
//! Nothing here talks to the kernel, and nothing is remembered from an earlier reading.

/// One network device of a network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Link {
    /// Interface index, unique in its network namespace.
    pub ifindex: u32,
    /// Name. Bytes that are not UTF-8 are written as escapes (`\xff`).
    pub name: String,
    /// Further names (`ip link property add altname`).
    pub alternative_names: Vec<String>,
    /// Kind as the kernel names it (`veth`, `bond`, `vlan`). `None`: a physical device or the loopback.
    pub kind: Option<String>,
    /// Hardware type, one of the kernel's `ARPHRD_*` numbers.
    pub link_type: u16,
    /// Driver name. `None`: the device has none to tell.
    pub driver: Option<String>,
    /// Address on a real bus, the PCI address wherever there is one.
    pub bus_address: Option<String>,
    /// Maximum transmission unit in bytes.
    pub mtu: u32,
    /// Administratively up.
    pub up: bool,
    /// The device that this one is enslaved to.
    pub master: Option<Master>,
    /// Lower device or peer, if it is in the same network namespace.
    pub parent: Option<u32>,
    /// Id of a device of kind `vlan`.
    pub vlan_id: Option<u16>,
    /// UDP port at which a device of kind `vxlan`, `geneve` or `wireguard` takes its tunnel's packets.
    pub tunnel_port: Option<u16>,
    /// The lower device or the peer is in another network namespace.
    pub peer_in_other_namespace: bool,
    /// Channels, if the driver has such a notion.
    pub channels: Option<Channels>,
    /// Receive queues that the device was made with. Fewer may be in use: see `channels`.
    pub rx_queues: u32,
    /// Transmit queues that the device was made with.
    pub tx_queues: u32,
    /// `NETDEV_XDP_ACT_*` bits. `None`: this kernel cannot say.
    pub xdp_features: Option<u64>,
    /// The XDP programs on the device.
    pub xdp: Option<AttachedXdp>,
    /// Packets received since the device exists.
    pub rx_packets: u64,
}

/// A bridge, bond, team or VRF that holds a link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Master {
    /// Interface index of the master.
    pub ifindex: u32,
    /// Kind of the master.
    pub kind: Option<String>,
}

/// Channel counts in use and their limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Channels {
    /// Receive-only channels.
    pub rx: u32,
    /// Transmit-only channels.
    pub tx: u32,
    /// Channels for other interrupts.
    pub other: u32,
    /// Channels that receive and transmit.
    pub combined: u32,
    /// Most receive-only channels.
    pub max_rx: u32,
    /// Most transmit-only channels.
    pub max_tx: u32,
    /// Most channels for other interrupts.
    pub max_other: u32,
    /// Most channels that receive and transmit.
    pub max_combined: u32,
}

/// Where an XDP program sits on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttachedMode {
    /// In the driver.
    Native,
    /// In the network core, on socket buffers.
    Generic,
    /// In the device's hardware.
    Offload,
    /// In more than one of these places.
    Multi,
}

/// One program and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttachedProgram {
    /// Where it sits, never `Multi`.
    pub mode: AttachedMode,
    /// Kernel's id of the program.
    pub program_id: u32,
}

/// The XDP programs of a device, as `RTM_NEWLINK` reports them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AttachedXdp {
    /// The one place, or `Multi`.
    pub mode: AttachedMode,
    /// Id of the program; of the first in `programs` if the mode is `Multi`.
    pub program_id: u32,
    /// Every program with its place.
    pub programs: Vec<AttachedProgram>,
}
