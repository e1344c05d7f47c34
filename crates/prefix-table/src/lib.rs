//! Builds the memory of address tables that `sluice_ebpf_common::prefixes` lays out, and looks addresses up in it
//! as the packet path does. It does no I/O and holds no maps: memory is bytes, or whatever implements [`live::Memory`].
#![forbid(unsafe_code)]

mod build;
pub mod fixed;
pub mod live;
mod lookup;
mod node;
mod prefix;

pub use lookup::{Layout, lookup};
