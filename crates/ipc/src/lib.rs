//! The agent's gRPC interface: the messages, a client's `connect`, and the agent's `listen`. It
//! decides nothing and knows nothing of policies or of the kernel beyond the socket itself.
#![forbid(unsafe_code)]

mod client;
mod error;
pub mod paths;
mod server;
mod state;

pub use client::{AgentClient, connect};
pub use error::Error;
pub use server::listen;

/// The longest time over which the agent measures rates: while it does, the kernel's run statistics
/// are on, and cost every BPF program of the node some time.
pub const LONGEST_SAMPLE_MILLISECONDS: u32 = 10_000;

/// What the agent gives as `nanoseconds_unavailable_because` of an interface that is merely idle.
pub const NO_PACKET_IN_SAMPLE: &str = "no packet during the sample";

/// The messages and the service, as generated from `proto/sluice/agent/v1alpha1/agent.proto`.
#[allow(missing_docs, clippy::pedantic, clippy::allow_attributes)]
pub mod v1alpha1 {
    tonic::include_proto!("sluice.agent.v1alpha1");
}
