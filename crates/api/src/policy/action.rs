//! What a rule does with the packets that it matches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The action of a rule: a type, and the settings of that type.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// What to do.
    pub r#type: ActionType,

    /// Settings of type `RateLimit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,

    /// Settings of type Mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,

    /// Settings of type Steer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steer: Option<Steer>,

    /// Settings of type Socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<Socket>,
}

/// The kinds of action.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ActionType {
    /// Drop the packet. Terminal.
    Drop,
    /// Hand the packet to the network stack. Terminal.
    Pass,
    /// Count the packet and go on to the next rule.
    Count,
    /// Drop what exceeds a rate. Within the rate the packet goes on to the next rule.
    RateLimit,
    /// Mark the packet and go on to the next rule.
    Mark,
    /// Hand the packet to the network stack on another CPU. Terminal.
    Steer,
    /// Hand the packet to an `AF_XDP` socket. Terminal.
    Socket,
}

/// The action of a policy for packets that no rule of it matched.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum DefaultAction {
    /// Hand the packet to the network stack.
    Pass,
    /// Drop the packet.
    Drop,
}

/// A rate. Exactly one of `packetsPerSecond` and `bitsPerSecond` is given.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// Packets a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub packets_per_second: Option<i64>,

    /// Bits of whole frames a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub bits_per_second: Option<i64>,

    /// What may pass at once after a pause, in packets or bits as the rate is. Absent: what the
    /// rate allows in a tenth of a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub burst: Option<i64>,

    /// Who shares the rate.
    #[serde(default)]
    pub per: RateLimitScope,

    /// Length of the source prefixes that share a rate under `per: Source`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_prefix: Option<SourcePrefix>,

    /// What happens to packets above the rate.
    #[serde(default)]
    pub excess: Excess,
}

/// Who shares a rate.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum RateLimitScope {
    /// All packets of the interface on one node, over all CPUs together.
    #[default]
    Node,
    /// Each source prefix has a rate of its own.
    Source,
}

/// Lengths of source prefixes in bits.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourcePrefix {
    /// For IPv4 sources, in bits.
    #[serde(default = "default_prefix_v4")]
    #[schemars(range(min = 1, max = 32))]
    pub v4: i32,

    /// For IPv6 sources, in bits.
    #[serde(default = "default_prefix_v6")]
    #[schemars(range(min = 1, max = 128))]
    pub v6: i32,
}

/// What happens above a rate.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Excess {
    /// Packets above the rate are dropped.
    #[default]
    Drop,
}

/// Marks that travel with the packet into the network stack.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// The packet mark that routing rules and firewalls read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4_294_967_295_i64))]
    pub mark: Option<i64>,

    /// The priority that queueing disciplines read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4_294_967_295_i64))]
    pub priority: Option<i64>,

    /// The traffic class, as `major:minor` in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

/// Which CPUs take the packets on.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Steer {
    /// CPU numbers and inclusive ranges, such as `2-5` or `0,4`.
    #[schemars(length(min = 1, max = 1024))]
    pub cpus: String,

    /// How a packet finds its CPU.
    #[serde(default)]
    pub algorithm: SteerAlgorithm,

    /// Packets that may wait for one CPU.
    #[serde(default = "default_queue_size")]
    #[schemars(range(min = 1, max = 16384))]
    pub queue_size: i32,
}

/// How a packet finds its CPU.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum SteerAlgorithm {
    /// By addresses, protocol and ports: one flow stays on one CPU.
    #[default]
    FlowHash,
    /// By source address.
    SourceHash,
    /// One after the other; packets of a flow may overtake each other.
    RoundRobin,
}

/// Which sockets take the packets on.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Socket {
    /// Name of the `XdpSocketPool`.
    pub pool: String,
}

const fn default_prefix_v4() -> i32 {
    32
}

const fn default_prefix_v6() -> i32 {
    64
}

const fn default_queue_size() -> i32 {
    2048
}
