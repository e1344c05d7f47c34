//! The packet path, as the XDP programs of this crate use it: parse to a [`flow::Flow`], then
//! classify. Nothing here touches maps or the XDP context, so that the same code is tested on the
//! host; the programs in `src/bin` are the thin edge around it.
#![no_std]
#![cfg_attr(target_arch = "bpf", allow(internal_features), feature(core_intrinsics))]
#![allow(
    clippy::cast_possible_truncation,
    reason = "Registers have 64 bits, fields 8 to 32: every cast takes the low bits, and is meant to."
)]
#![allow(
    clippy::inline_always,
    reason = "A call costs the packet path more than it saves, and the verifier follows packet bounds best in one function."
)]

pub mod address;
pub mod bucket;
pub mod classify;
#[cfg(target_arch = "bpf")]
pub mod context;
pub mod fast;
pub mod flow;
mod ipv4;
mod ipv6;
pub mod limit;
#[cfg(target_arch = "bpf")]
pub mod mark;
pub mod matched;
pub mod merged;
pub mod parse;
mod transport;
pub mod vary;
pub mod walk;
pub mod words;

/// For every program: there is nothing to unwind to, and the verifier refuses a program that could come here.
#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
