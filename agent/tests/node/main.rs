//! The agent as a process on a real kernel, in network namespaces of its own. One program, since each
//! would be linked with all that the agent's interface needs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod apply;
mod bad_input;
mod cleanup;
mod failsafe;
mod foreign;
mod harness;
mod idle;
mod interfaces;
mod language;
mod latency;
mod lifecycle;
mod marks;
mod modes;
mod recovery;
mod sets;
mod traffic;
