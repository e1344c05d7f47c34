//! Marks on their way from XDP to the stack, and the TC program that applies them, by tcx and by clsact: on a
//! veth pair of its own for each test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod attach;
mod lab;
mod others;
mod packets;
mod throughput;
