//! What a rule matches, checked. Every field that is given must match; values of one list are
//! alternatives. A field that a packet does not have is unknown, and unknown never matches.

use std::fmt;

use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Serialize;

/// What a rule matches.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Matcher {
    /// What must hold.
    #[serde(flatten)]
    pub fields: Fields,
    /// What, taken together, must certainly not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Fields>,
}

/// Fields of a packet; absent or empty: any value, or none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fields {
    /// Upper protocol number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
    /// Source ports, any of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source_ports: Vec<PortRange>,
    /// Destination ports, any of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destination_ports: Vec<PortRange>,
    /// Source prefixes without host bits, any of them; a family matches its own packets only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<IpNet>,
    /// Destination prefixes, as `sources`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<IpNet>,
    /// Address sets of which one must hold the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_sets: Option<SetReference>,
    /// Address sets of which one must hold the destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_sets: Option<SetReference>,
    /// TCP flags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_flags: Option<TcpFlags>,
    /// ICMP or ICMPv6 types and codes, any of them. Which of the two is `protocol`'s to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icmp: Vec<IcmpRange>,
    /// Ids of the outermost VLAN tag, any of them; 0 is a priority tag.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vlan_ids: Vec<u16>,
    /// IP version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_version: Option<IpVersion>,
    /// Which part of a fragmented packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment: Option<FragmentPart>,
    /// Length of the IP packet in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<LengthRange>,
    /// Frames that are not IP. Only the failsafe asks for these; a policy cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameKind>,
}

impl Fields {
    /// Whether nothing is asked for, so that every packet matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The address sets that it asks for.
    pub fn set_references(&self) -> impl Iterator<Item = &SetReference> {
        self.source_sets.iter().chain(&self.destination_sets)
    }
}

/// Address sets, by name and by label. In a plan every selector has been resolved: `names` then holds all,
/// sorted, each once, and `selector` is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SetReference {
    /// Names of `XdpCidrSet` objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Labels of `XdpCidrSet` objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// TCP flags as bits of the header's flags byte (FIN is 1, CWR is 0x80); no flag is in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct TcpFlags {
    /// Flags that must be set.
    pub set: u8,
    /// Flags that must not be set.
    pub unset: u8,
}

/// ICMP types from first to last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IcmpRange {
    /// First type.
    pub first_type: u8,
    /// Last type; not below `first_type`.
    pub last_type: u8,
    /// Code; absent: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
}

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum IpVersion {
    /// 4.
    V4,
    /// 6.
    V6,
}

/// Which part of a fragmented packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum FragmentPart {
    /// The first fragment.
    First,
    /// Any fragment but the first.
    Later,
    /// Any fragment.
    Any,
}

/// Kinds of frames that carry no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum FrameKind {
    /// `EtherType` 0x0806, tagged or not.
    Arp,
    /// To 01:80:c2:00:00:00 to 0f, and no IP packet: LACP, LLDP, spanning tree, EAPOL.
    LinkControl,
}

macro_rules! range {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            /// First value.
            pub first: u16,
            /// Last value; not below `first`.
            pub last: u16,
        }

        impl $name {
            /// Whether `value` is in the range.
            #[must_use]
            pub const fn contains(self, value: u16) -> bool {
                self.first <= value && value <= self.last
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                if self.first == self.last {
                    write!(formatter, "{}", self.first)
                } else {
                    write!(formatter, "{}-{}", self.first, self.last)
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

range! {
    /// Ports from first to last, both included.
    PortRange
}

range! {
    /// Lengths of IP packets in bytes, from first to last, both included. A packet longer than 65535 bytes
    /// (generic mode sees some) is in no range.
    LengthRange
}
