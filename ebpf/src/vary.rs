//! Bench only: changes addresses and ports from run to run, so that a repeated packet does not flatter
//! caches. The verifier removes it where nothing varies.

use crate::{bucket::Shared, flow::Flow};

/// Which bits change.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Varied {
    /// Of the source address, as in the flow.
    pub source: [u32; 4],
    /// Of the destination address.
    pub destination: [u32; 4],
    /// Of the source port.
    pub source_port: u16,
    /// Of the destination port.
    pub destination_port: u16,
    /// 1 if anything varies.
    pub varies: u32,
}

const _: () = assert!(size_of::<Varied>() == 40);

impl Varied {
    /// Every run sees the packet as it is.
    pub const NOTHING: Self =
        Self { source: [0; 4], destination: [0; 4], source_port: 0, destination_port: 0, varies: 0 };
}

static RUNS: Shared = Shared::new(1);

/// Replaces the bits of `flow` that vary by others on every run.
#[inline(always)]
pub fn vary(varied: &Varied, flow: &mut Flow) {
    if varied.varies == 0 {
        return;
    }
    RUNS.add_one();
    let run = RUNS.load();
    // Multiplication by odd constants spreads the count over all bits (Fibonacci hashing).
    let one = run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let other = (one ^ one >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let words = [(other >> 32) as u32, other as u32, (one >> 32) as u32, one as u32];
    if let Some(source) = &mut flow.source {
        mix(source, &varied.source, words);
    }
    if let Some(destination) = &mut flow.destination {
        mix(destination, &varied.destination, [words[2], words[0], words[1], words[3]]);
    }
    if let Some(port) = &mut flow.source_port {
        *port = *port & !varied.source_port | (other >> 16) as u16 & varied.source_port;
    }
    if let Some(port) = &mut flow.destination_port {
        *port = *port & !varied.destination_port | (other >> 40) as u16 & varied.destination_port;
    }
}

#[inline(always)]
fn mix(address: &mut [u32; 4], mask: &[u32; 4], words: [u32; 4]) {
    for ((word, mask), random) in address.iter_mut().zip(mask).zip(words) {
        *word = *word & !mask | random & mask;
    }
}
