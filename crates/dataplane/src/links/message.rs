//! From the bytes of one `RTM_NEWLINK` or `RTM_DELLINK` message to a [`Link`]. Pure.
//!
//! Never fills in the driver, the channels and the XDP features: netlink's link messages do not carry them.

use netlink_packet_core::DecodeError;

use super::attributes::{attributes, bytes_of, text_of, u8_of, u16_of, u32_of, u64_of};
use super::link::{AttachedMode, AttachedProgram, AttachedXdp, Link, Master};
use super::tunnels;

/// Size of `struct ifinfomsg`.
pub(super) const HEADER_LENGTH: usize = 16;

const IFLA_WIRELESS: u16 = 11;
const IFLA_STATS64: u16 = 23;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_XDP: u16 = 43;
const IFLA_EVENT: u16 = 44;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;
const IFLA_PARENT_DEV_NAME: u16 = 56;
const IFLA_PARENT_DEV_BUS_NAME: u16 = 57;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_VLAN_ID: u16 = 1;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;
const IFLA_XDP_DRV_PROG_ID: u16 = 5;
const IFLA_XDP_SKB_PROG_ID: u16 = 6;
const IFLA_XDP_HW_PROG_ID: u16 = 7;

/// Buses that a device really sits on, as opposed to those made up for software devices.
const REAL_BUSES: [&str; 6] = ["pci", "virtio", "usb", "platform", "vmbus", "ccw"];

/// A link and what is needed to ask more about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LinkMessage {
    pub link: Link,
    /// Address family of the message. Only `AF_UNSPEC` messages describe the device itself.
    pub family: u8,
    /// The name as the kernel wrote it.
    pub kernel_name: Vec<u8>,
    /// Parent device (`0000:3b:00.0`, `virtio1`), on whatever bus.
    pub parent_device: Option<String>,
    /// Signal on the wire.
    pub carrier: bool,
    /// `IFLA_EVENT_*`, if the kernel says why it sent the message.
    pub event: Option<u32>,
    /// News of a wireless network, which leaves out everything about the device.
    pub wireless: bool,
}

impl LinkMessage {
    /// Reads `struct ifinfomsg` and the attributes behind it.
    ///
    /// Damage is an error, which names the link: each part decides what is done to it. Without its kind it
    /// would be a NIC, without its alternative names or its program it would be another one.
    pub fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let Some((header, rest)) = payload.split_first_chunk::<HEADER_LENGTH>() else {
            return Err(format!("a link message of {} bytes is too short", payload.len()).into());
        };
        let [family, _, type_low, type_high, i0, i1, i2, i3, f0, f1, f2, f3, ..] = *header;
        let flags = u32::from_ne_bytes([f0, f1, f2, f3]);
        let mut message = Self { family, carrier: has(flags, libc::IFF_LOWER_UP), ..Self::default() };
        message.link.ifindex = u32::from_ne_bytes([i0, i1, i2, i3]);
        message.link.link_type = u16::from_ne_bytes([type_low, type_high]);
        message.link.up = has(flags, libc::IFF_UP);
        let mut seen = Relations::default();
        let damaged = |message: &Self, error| {
            DecodeError::from(format!("link {} {}: {error}", message.link.ifindex, message.link.name))
        };
        for attribute in attributes(rest) {
            let read = attribute.and_then(|(kind, value)| message.read(kind, value, &mut seen));
            read.map_err(|error| damaged(&message, error))?;
        }
        seen.apply(&mut message);
        Ok(message)
    }

    fn read(&mut self, kind: u16, value: &[u8], seen: &mut Relations) -> Result<(), DecodeError> {
        match kind {
            libc::IFLA_IFNAME => {
                self.kernel_name = bytes_of(value).to_vec();
                self.link.name = text_of(value);
            }
            libc::IFLA_MTU => self.link.mtu = u32_of(value).unwrap_or_default(),
            libc::IFLA_LINK => seen.lower = u32_of(value),
            libc::IFLA_MASTER => seen.master = u32_of(value),
            libc::IFLA_LINKINFO => seen.read_link_info(value)?,
            libc::IFLA_NUM_RX_QUEUES => self.link.rx_queues = u32_of(value).unwrap_or_default(),
            libc::IFLA_NUM_TX_QUEUES => self.link.tx_queues = u32_of(value).unwrap_or_default(),
            IFLA_WIRELESS => self.wireless = true,
            IFLA_STATS64 => self.link.rx_packets = u64_of(value).unwrap_or_default(),
            IFLA_LINK_NETNSID => self.link.peer_in_other_namespace = true,
            IFLA_XDP => self.link.xdp = xdp(value)?,
            IFLA_EVENT => self.event = u32_of(value),
            IFLA_PROP_LIST => self.link.alternative_names = alternative_names(value)?,
            IFLA_PARENT_DEV_NAME => self.parent_device = Some(text_of(value)),
            IFLA_PARENT_DEV_BUS_NAME => seen.bus = Some(text_of(value)),
            _ => {}
        }
        Ok(())
    }
}

/// Attributes that mean something only together.
#[derive(Default)]
struct Relations {
    lower: Option<u32>,
    master: Option<u32>,
    kind: Option<String>,
    /// The kind's own data.
    data: Vec<u8>,
    master_kind: Option<String>,
    bus: Option<String>,
}

impl Relations {
    fn read_link_info(&mut self, value: &[u8]) -> Result<(), DecodeError> {
        for attribute in attributes(value) {
            match attribute? {
                (IFLA_INFO_KIND, value) => self.kind = Some(text_of(value)),
                (IFLA_INFO_DATA, value) => self.data = value.to_vec(),
                (IFLA_INFO_SLAVE_KIND, value) => self.master_kind = Some(text_of(value)),
                _ => {}
            }
        }
        Ok(())
    }

    fn apply(self, message: &mut LinkMessage) {
        let link = &mut message.link;
        let kind = self.kind.as_deref();
        link.vlan_id = number(&self.data, IFLA_VLAN_ID).filter(|_| kind == Some("vlan"));
        link.tunnel_port = tunnels::port(kind, &self.data);
        link.kind = self.kind;
        link.master = self.master.map(|ifindex| Master { ifindex, kind: self.master_kind });
        // Tunnels bound to no device say 0, and some physical devices name themselves.
        let lower = self.lower.filter(|lower| *lower != 0 && *lower != link.ifindex);
        link.parent = lower.filter(|_| !link.peer_in_other_namespace);
        if self.bus.is_some_and(|bus| REAL_BUSES.contains(&bus.as_str())) {
            link.bus_address.clone_from(&message.parent_device);
        }
    }
}

/// Other kinds may put anything into their data, so damage there is no error.
fn number(data: &[u8], wanted: u16) -> Option<u16> {
    attributes(data).flatten().find(|(kind, _)| *kind == wanted).and_then(|(_, value)| u16_of(value))
}

fn has(flags: u32, flag: libc::c_int) -> bool {
    flags & flag.cast_unsigned() != 0
}

fn alternative_names(value: &[u8]) -> Result<Vec<String>, DecodeError> {
    let names = attributes(value).filter(|a| !matches!(a, Ok((kind, _)) if *kind != IFLA_ALT_IFNAME));
    names.map(|attribute| attribute.map(|(_, value)| text_of(value))).collect()
}

/// Reads the nested `IFLA_XDP`. `None` if no program is attached.
fn xdp(value: &[u8]) -> Result<Option<AttachedXdp>, DecodeError> {
    let (mut attached, mut single, mut programs) = (0, None, Vec::new());
    for attribute in attributes(value) {
        let (kind, value) = attribute?;
        let mode = match kind {
            IFLA_XDP_DRV_PROG_ID => AttachedMode::Native,
            IFLA_XDP_SKB_PROG_ID => AttachedMode::Generic,
            IFLA_XDP_HW_PROG_ID => AttachedMode::Offload,
            IFLA_XDP_ATTACHED => {
                attached = u8_of(value).unwrap_or_default();
                continue;
            }
            IFLA_XDP_PROG_ID => {
                single = u32_of(value);
                continue;
            }
            _ => continue,
        };
        programs.extend(u32_of(value).map(|program_id| AttachedProgram { mode, program_id }));
    }
    programs.sort_by_key(|program| program.mode);
    Ok(summary(attached, single, programs))
}

fn summary(attached: u8, single: Option<u32>, mut programs: Vec<AttachedProgram>) -> Option<AttachedXdp> {
    let mode = match attached {
        1 => AttachedMode::Native,
        2 => AttachedMode::Generic,
        3 => AttachedMode::Offload,
        4 => AttachedMode::Multi,
        _ => return None,
    };
    // Kernels before 4.19 name only the one program, without its place.
    if let (true, Some(program_id)) = (programs.is_empty(), single) {
        programs.push(AttachedProgram { mode, program_id });
    }
    let program_id = single.or(programs.first().map(|program| program.program_id)).unwrap_or_default();
    Some(AttachedXdp { mode, program_id, programs })
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
