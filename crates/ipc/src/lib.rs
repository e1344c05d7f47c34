//! The agent's gRPC interface: the messages, a client's `connect`, and the agent's `listen`. It
//! decides nothing and knows nothing of policies or of the kernel beyond the socket itself.
#![forbid(unsafe_code)]

mod client;
mod error;
mod server;
mod state;

pub use client::{AgentClient, connect};
pub use error::Error;
pub use server::listen;

/// Where the agent listens unless told otherwise.
pub const DEFAULT_SOCKET: &str = "/run/sluice/agent.sock";

/// The messages and the service, as generated from `proto/sluice/agent/v1alpha1/agent.proto`.
#[allow(missing_docs, clippy::pedantic, clippy::allow_attributes)]
pub mod v1alpha1 {
    tonic::include_proto!("sluice.agent.v1alpha1");
}
