//! The built-in failsafe: what passes before any rule, whatever policies say, and how policies change it.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde::Serialize;

use crate::Fields;

/// The policy that rules of the failsafe bear the name of. No policy may be called so.
pub const POLICY: &str = "failsafe";

macro_rules! services {
    ($($(#[$doc:meta])* $name:ident = $api:literal, $counter:literal;)*) => {
        /// What the failsafe passes, by service.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum Service {
            $($(#[$doc])* $name,)*
        }

        impl Service {
            /// Every service, in the order of evaluation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name under `failsafe.services` of a policy.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $api,)*
                }
            }

            /// The name in verdicts and counters, behind `failsafe/`.
            #[must_use]
            pub const fn counter(self) -> &'static str {
                match self {
                    $(Self::$name => $counter,)*
                }
            }
        }
    };
}

services! {
    /// ARP.
    Arp = "ARP", "arp";
    /// Neighbour and router discovery, ICMPv6 types 133 to 137.
    NeighborDiscovery = "NeighborDiscovery", "nd";
    /// Multicast listener discovery, ICMPv6 types 130 to 132 and 143.
    MulticastListenerDiscovery = "MulticastListenerDiscovery", "mld";
    /// ICMP types 3, 11 and 12, ICMPv6 types 1 to 4 (RFC 4890).
    IcmpErrors = "ICMPErrors", "icmp-errors";
    /// DHCP to UDP port 68, `DHCPv6` to UDP port 546.
    Dhcp = "DHCP", "dhcp";
    /// Frames to 01:80:c2:00:00:00 to 0f: LACP, LLDP, spanning tree, EAPOL.
    LinkControl = "LinkControl", "link-local-control";
    /// TCP from an API server's endpoint: its address and port are the source.
    ApiServer = "APIServer", "api-server";
    /// UDP and TCP from port 53 of one of the node's resolvers.
    Resolver = "Resolver", "resolver";
    /// TCP to port 10250.
    Kubelet = "Kubelet", "kubelet";
    /// TCP to port 22.
    Ssh = "SSH", "ssh";
    /// UDP to the ports of the node's VXLAN, Geneve and `WireGuard` devices.
    Overlay = "Overlay", "overlay";
}

/// What a policy changes of the failsafe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failsafe {
    /// By service.
    pub services: BTreeMap<Service, ServiceChange>,
    /// Further traffic that passes: protocol, destination ports and sources.
    pub extra: Vec<Fields>,
}

/// A change to one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceChange {
    /// It passes from these sources only.
    Sources(Vec<IpNet>),
    /// It is off.
    Disabled,
}
