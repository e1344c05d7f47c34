//! What a rule does, checked.

use serde::Serialize;
use sluice_api::SteerAlgorithm;

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Action {
    /// Drop the packet.
    Drop,
    /// Pass the packet to the network stack.
    Pass,
    /// Count and go on.
    Count,
    /// Drop what exceeds a rate, go on with the rest.
    RateLimit(RateLimit),
    /// Mark and go on.
    Mark(Mark),
    /// Pass the packet on another CPU.
    Steer(Steer),
    /// Hand the packet to a socket of the pool with this name.
    Socket(String),
}

impl Action {
    /// The name as it is written in a policy.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Drop => "Drop",
            Self::Pass => "Pass",
            Self::Count => "Count",
            Self::RateLimit(_) => "RateLimit",
            Self::Mark(_) => "Mark",
            Self::Steer(_) => "Steer",
            Self::Socket(_) => "Socket",
        }
    }

    /// Whether the first rule with this action that matches always decides about the packet.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Drop | Self::Pass | Self::Steer(_) | Self::Socket(_))
    }

    /// Whether the packet reaches somebody by this decision.
    pub(crate) const fn passes(&self) -> bool {
        matches!(self, Self::Pass | Self::Steer(_) | Self::Socket(_))
    }
}

/// A rate and who shares it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// The rate, in `unit` a second; at least 1.
    pub rate: u64,
    /// What is counted.
    pub unit: RateUnit,
    /// What may pass at once after a pause, in `unit`; at least 1.
    pub burst: u64,
    /// Absent: all packets of the interface share one rate. Else each source prefix has one.
    pub per_source: Option<SourcePrefix>,
}

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum RateUnit {
    /// Packets.
    Packets,
    /// Bits of whole frames, without frame check sequence.
    Bits,
}

/// Lengths in bits of the source prefixes that share a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SourcePrefix {
    /// Of IPv4 sources, 1 to 32.
    pub v4: u8,
    /// Of IPv6 sources, 1 to 128.
    pub v6: u8,
}

/// What travels with the packet. At least one field is given; of `priority` and `class` at most one,
/// since both are the priority of the kernel's packet (`skb->priority`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Mark {
    /// The packet mark (`skb->mark`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<u32>,
    /// The priority that queueing disciplines read (`skb->priority`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The traffic class as a handle, `major << 16 | minor`: a priority that classful queueing
    /// disciplines take for one of their classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u32>,
}

/// Which CPUs take the packets on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Steer {
    /// CPU numbers, sorted, each once.
    pub cpus: Vec<u32>,
    /// How a packet finds its CPU.
    #[serde(serialize_with = "algorithm_name")]
    pub algorithm: SteerAlgorithm,
    /// Packets that may wait for one CPU, 1 to 16384.
    pub queue_size: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn algorithm_name<S: serde::Serializer>(
    algorithm: &SteerAlgorithm,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{algorithm:?}"))
}
