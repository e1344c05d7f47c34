//! What tests need: honest skips, network namespaces, veth labs, frames, traffic, private folders in
//! bpffs, and a plain compiler of rules. Only tests, benches and the demo link it; it never touches a network namespace, a folder or
//! a process that it did not make.
#![allow(clippy::expect_used, clippy::panic, reason = "A broken test set-up must end the test, loudly.")]

pub mod bpffs;
pub mod feature;
pub mod frame;
mod leftovers;
pub mod namespace;
mod napi;
mod owner;
mod packet_socket;
pub mod rules;
pub mod traffic;
pub mod veth;
mod wait;

pub use bpffs::BpffsDir;
pub use feature::{Feature, require};
pub use frame::Frame;
pub use namespace::{DeviceCounters, NetworkNamespace};
pub use veth::{Side, VethLab};
pub use wait::wait_until;
