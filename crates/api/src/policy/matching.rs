//! What a rule matches. Every field that is given must match; values of one list are alternatives.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Action;

/// One rule of a policy.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Name of the rule, unique in its policy: counters and events carry it.
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,

    /// Packets that the rule matches. Absent: every packet, which Drop and `RateLimit` refuse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#match: Option<Match>,

    /// What happens to a packet that matches.
    pub action: Action,
}

/// The condition of a rule.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// What must hold.
    #[serde(flatten)]
    pub fields: MatchFields,

    /// What must not hold: the rule matches when these fields, taken together, certainly do not
    /// match. A field that the packet does not have matches neither way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<MatchFields>,
}

/// Fields of a packet. A field that the packet does not have never matches.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchFields {
    /// Upper protocol, behind all IPv6 extension headers: `TCP`, `UDP`, `SCTP`, `ICMP`, `ICMPv6`,
    /// `IGMP`, `IPIP`, `IPv6`, `GRE`, `ESP`, `OSPF`, `VRRP`, or a number from 0 to 255.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<IntOrString>,

    /// Destination ports or inclusive ranges of them, such as `9` or `100-200`. Needs protocol TCP,
    /// UDP or SCTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub destination_ports: Option<Vec<IntOrString>>,

    /// Source ports or inclusive ranges of them, such as `9` or `100-200`. Needs protocol TCP, UDP
    /// or SCTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub source_ports: Option<Vec<IntOrString>>,

    /// Source addresses as CIDR prefixes. An IPv4 prefix matches IPv4 packets only, an IPv6 prefix
    /// IPv6 packets only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub sources: Option<Vec<String>>,

    /// Destination addresses as CIDR prefixes, as for `sources`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub destinations: Option<Vec<String>>,

    /// Names of `XdpCidrSet` objects that hold the source address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub source_sets: Option<Vec<String>>,

    /// Labels of `XdpCidrSet` objects that hold the source address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_set_selector: Option<LabelSelector>,

    /// Names of `XdpCidrSet` objects that hold the destination address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub destination_sets: Option<Vec<String>>,

    /// Labels of `XdpCidrSet` objects that hold the destination address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_set_selector: Option<LabelSelector>,

    /// TCP flags. Needs protocol TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_flags: Option<TcpFlags>,

    /// ICMP type and code. Needs protocol ICMP or `ICMPv6`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp: Option<Icmp>,

    /// VLAN tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<Vlan>,

    /// IP version: 4 or 6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4, max = 6))]
    pub ip_version: Option<i32>,

    /// Fragments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<Fragment>,

    /// Length of the IP packet in bytes, without Ethernet header and padding: a number or an
    /// inclusive range such as `0-64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<IntOrString>,
}

/// TCP flags by name. Flags that are not named may have any value.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TcpFlags {
    /// Flags that must be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8))]
    pub set: Option<Vec<TcpFlag>>,

    /// Flags that must not be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8))]
    pub unset: Option<Vec<TcpFlag>>,
}

/// A TCP flag.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TcpFlag {
    /// Sender is finished.
    Fin,
    /// Synchronise sequence numbers.
    Syn,
    /// Reset.
    Rst,
    /// Push.
    Psh,
    /// The acknowledgement number is valid.
    Ack,
    /// The urgent pointer is valid.
    Urg,
    /// Congestion was experienced.
    Ece,
    /// The congestion window was reduced.
    Cwr,
}

/// ICMP type and code.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Icmp {
    /// Type, 0 to 255.
    #[schemars(range(min = 0, max = 255))]
    pub r#type: i32,

    /// Code, 0 to 255. Absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 255))]
    pub code: Option<i32>,
}

/// VLAN tags.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Vlan {
    /// Ids of the outermost tag, 0 to 4095. Id 0 is a priority tag.
    #[schemars(length(min = 1, max = 256), inner(range(min = 0, max = 4095)))]
    pub ids: Vec<i32>,
}

/// Which part of a fragmented packet. An IPv6 packet with a fragment header that is whole is none.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Fragment {
    /// The first fragment, which has the ports.
    First,
    /// Any fragment but the first.
    Later,
    /// Any fragment.
    Any,
}
