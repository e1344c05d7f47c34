//! Which messages of the kernel mean that something about a link has changed. Pure.
//!
//! A node with pods sees a stream of messages that repeat what is known: carriers, statistics, wireless
//! scans, the states of bridge ports. Those must wake nobody.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::attributes::{attributes, u32_of};
use super::generic::{HEADER_LENGTH, NETDEV_A_DEV_IFINDEX};
use super::link::Link;
use super::message::LinkMessage;

const IFLA_EVENT_REBOOT: u32 = 1;
const IFLA_EVENT_FEATURES: u32 = 2;

const ETHTOOL_A_HEADER: u16 = 1;
const ETHTOOL_A_HEADER_DEV_INDEX: u16 = 1;
const ETHTOOL_MSG_FEATURES_NTF: u8 = 13;
const ETHTOOL_MSG_PRIVFLAGS_NTF: u8 = 15;
const ETHTOOL_MSG_RINGS_NTF: u8 = 17;
const ETHTOOL_MSG_CHANNELS_NTF: u8 = 19;
const NETDEV_CMD_DEV_CHANGE_NTF: u8 = 4;

/// Kinds that come and go with pods. Others are part of the node and change rarely.
const POD_KINDS: [&str; 9] =
    ["veth", "netkit", "macvlan", "macvtap", "ipvlan", "ipvtap", "tun", "dummy", "ifb"];

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// It says nothing new.
    Nothing,
    /// A device changed that comes and goes with pods.
    Ordinary,
    /// A device of the node changed.
    Urgent,
}

/// A digest of what was last said of each link.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<u32, (u64, Weight)>);

impl Known {
    /// Weighs an `RTM_NEWLINK` message.
    pub fn appeared_or_changed(&mut self, message: &LinkMessage) -> Weight {
        if i32::from(message.family) != libc::AF_UNSPEC || message.wireless {
            return Weight::Nothing;
        }
        let entry = (digest(message), weight(&message.link));
        let told = matches!(message.event, Some(IFLA_EVENT_REBOOT | IFLA_EVENT_FEATURES));
        let repeated = self.0.insert(message.link.ifindex, entry) == Some(entry);
        if repeated && !told { Weight::Nothing } else { entry.1 }
    }

    /// Weighs an `RTM_DELLINK` message.
    pub fn disappeared(&mut self, message: &LinkMessage) -> Weight {
        if i32::from(message.family) != libc::AF_UNSPEC {
            return Weight::Nothing;
        }
        self.0.remove(&message.link.ifindex);
        weight(&message.link)
    }

    /// Weighs a notification of the ethtool family.
    pub fn ethtool(&self, payload: &[u8]) -> Weight {
        match payload.first() {
            Some(
                &(ETHTOOL_MSG_FEATURES_NTF
                | ETHTOOL_MSG_PRIVFLAGS_NTF
                | ETHTOOL_MSG_RINGS_NTF
                | ETHTOOL_MSG_CHANNELS_NTF),
            ) => self.of(attribute(payload, ETHTOOL_A_HEADER).and_then(|header| {
                let found =
                    attributes(header).flatten().find(|(kind, _)| *kind == ETHTOOL_A_HEADER_DEV_INDEX);
                found.and_then(|(_, value)| u32_of(value))
            })),
            _ => Weight::Nothing,
        }
    }

    /// Weighs a notification of the netdev family.
    pub fn netdev(&self, payload: &[u8]) -> Weight {
        match payload.first() {
            Some(&NETDEV_CMD_DEV_CHANGE_NTF) => {
                self.of(attribute(payload, NETDEV_A_DEV_IFINDEX).and_then(u32_of))
            }
            _ => Weight::Nothing,
        }
    }

    /// Messages were lost: nothing is known any more.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    fn of(&self, ifindex: Option<u32>) -> Weight {
        let known = ifindex.and_then(|ifindex| self.0.get(&ifindex));
        known.map_or(Weight::Urgent, |(_, weight)| *weight)
    }
}

fn attribute(payload: &[u8], wanted: u16) -> Option<&[u8]> {
    let rest = payload.get(HEADER_LENGTH..)?;
    attributes(rest).flatten().find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

fn weight(link: &Link) -> Weight {
    match &link.kind {
        Some(kind) if POD_KINDS.contains(&kind.as_str()) => Weight::Ordinary,
        _ => Weight::Urgent,
    }
}

/// Everything but the statistics. The carrier counts where a change of it can mean that a NIC was reset.
fn digest(message: &LinkMessage) -> u64 {
    let mut hasher = DefaultHasher::new();
    Link { rx_packets: 0, ..message.link.clone() }.hash(&mut hasher);
    (message.link.kind.is_none() && message.carrier).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::attributes::push;
    use super::*;

    fn link(ifindex: u32, kind: Option<&str>) -> LinkMessage {
        let link = Link { ifindex, kind: kind.map(str::to_owned), mtu: 1500, ..Link::default() };
        LinkMessage { link, ..LinkMessage::default() }
    }

    #[test]
    fn a_repetition_says_nothing_and_statistics_are_no_news() {
        let mut known = Known::default();
        let mut nic = link(2, None);
        assert_eq!(known.appeared_or_changed(&nic), Weight::Urgent);
        nic.link.rx_packets = 1000;
        assert_eq!(known.appeared_or_changed(&nic), Weight::Nothing);
        nic.link.mtu = 9000;
        assert_eq!(known.appeared_or_changed(&nic), Weight::Urgent);
    }

    #[test]
    fn a_carrier_matters_on_a_nic_only() {
        let mut known = Known::default();
        for (kind, after) in [(None, Weight::Urgent), (Some("veth"), Weight::Nothing)] {
            let mut message = link(2, kind);
            known.appeared_or_changed(&message);
            message.carrier = true;
            assert_eq!(known.appeared_or_changed(&message), after, "{kind:?}");
        }
    }

    #[test]
    fn pods_can_wait_and_the_nodes_own_devices_cannot() {
        let mut known = Known::default();
        assert_eq!(known.appeared_or_changed(&link(3, Some("veth"))), Weight::Ordinary);
        assert_eq!(known.appeared_or_changed(&link(4, Some("bond"))), Weight::Urgent);
        assert_eq!(known.disappeared(&link(3, Some("veth"))), Weight::Ordinary);
        assert_eq!(
            known.appeared_or_changed(&link(3, Some("veth"))),
            Weight::Ordinary,
            "a new device, same index"
        );
    }

    #[test]
    fn bridge_ports_and_wireless_scans_are_other_peoples_news() {
        let mut known = Known::default();
        let bridge = LinkMessage { family: 7, ..link(2, None) };
        let scan = LinkMessage { wireless: true, ..link(2, None) };
        assert_eq!(known.appeared_or_changed(&bridge), Weight::Nothing);
        assert_eq!(known.disappeared(&bridge), Weight::Nothing);
        assert_eq!(known.appeared_or_changed(&scan), Weight::Nothing);
    }

    #[test]
    fn a_reset_and_changed_features_count_though_nothing_else_changed() {
        let mut known = Known::default();
        known.appeared_or_changed(&link(2, None));
        for (event, weight) in [(1, Weight::Urgent), (2, Weight::Urgent), (4, Weight::Nothing)] {
            let message = LinkMessage { event: Some(event), ..link(2, None) };
            assert_eq!(known.appeared_or_changed(&message), weight, "event {event}");
        }
    }

    #[test]
    fn after_a_loss_everything_is_news() {
        let mut known = Known::default();
        known.appeared_or_changed(&link(2, None));
        known.forget();
        assert_eq!(known.appeared_or_changed(&link(2, None)), Weight::Urgent);
    }

    #[test]
    fn ethtool_news_weigh_as_their_device() {
        let mut known = Known::default();
        known.appeared_or_changed(&link(3, Some("veth")));
        let notification = |command: u8, ifindex: u32| {
            let mut header = Vec::new();
            push(&mut header, ETHTOOL_A_HEADER_DEV_INDEX, &ifindex.to_ne_bytes());
            let mut payload = vec![command, 1, 0, 0];
            push(&mut payload, ETHTOOL_A_HEADER | 0x8000, &header);
            payload
        };
        assert_eq!(known.ethtool(&notification(ETHTOOL_MSG_CHANNELS_NTF, 3)), Weight::Ordinary);
        assert_eq!(known.ethtool(&notification(ETHTOOL_MSG_CHANNELS_NTF, 2)), Weight::Urgent);
        assert_eq!(known.ethtool(&notification(21, 2)), Weight::Nothing, "coalescing");
        assert_eq!(
            known.ethtool(&[ETHTOOL_MSG_RINGS_NTF]),
            Weight::Urgent,
            "a cut message is no reason to sleep"
        );
        assert_eq!(known.ethtool(&[]), Weight::Nothing);
    }
}
