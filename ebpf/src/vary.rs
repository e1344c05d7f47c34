//! Bench only: changes addresses and ports from run to run, so that a repeated packet does not flatter
//! caches. The verifier removes it where nothing varies.

use crate::{address::Address, bucket::Shared};

/// Which bits change.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Varied {
    /// Of the source address, in network order; IPv4 takes the first element.
    pub source: [u32; 4],
    /// Of the destination address.
    pub destination: [u32; 4],
    /// Of the source port, in network order.
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

/// Addresses and ports, as a packet has them.
pub struct Values<'a> {
    /// IP version.
    pub version: u8,
    /// Source address.
    pub source: &'a mut Address,
    /// Destination address.
    pub destination: &'a mut Address,
    /// Source and destination port, in network order.
    pub ports: &'a mut [u16; 2],
}

/// Replaces the bits that vary by others on every run.
#[inline(always)]
#[allow(clippy::needless_pass_by_value, reason = "it holds references")]
pub fn vary(varied: &Varied, values: Values<'_>) {
    if varied.varies == 0 {
        return;
    }
    RUNS.add_one();
    let run = RUNS.load();
    // Multiplication by odd constants spreads the count over all bits (Fibonacci hashing).
    let one = run.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let other = (one ^ one >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mix(values.source, Address::new(values.version, &varied.source), one >> 7, other);
    mix(values.destination, Address::new(values.version, &varied.destination), other.rotate_left(23), one);
    let [source, destination] = values.ports;
    *source = *source & !varied.source_port | (other >> 16) as u16 & varied.source_port;
    *destination = *destination & !varied.destination_port | (other >> 40) as u16 & varied.destination_port;
}

#[inline(always)]
fn mix(address: &mut Address, mask: Address, high: u64, low: u64) {
    address.high = address.high & !mask.high | high & mask.high;
    address.low = address.low & !mask.low | low & mask.low;
}
