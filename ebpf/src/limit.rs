//! Rate limits. A bucket is one time that all CPUs share: each packet within the rate moves it on by its cost with a
//! compare and exchange, so that a rate is exact over CPUs, and a packet above it writes nothing.

use sluice_ebpf_common::{SourceKey, tables::Limit};

use crate::bucket::Shared;

/// A CPU that loses this often in turn lets the packet pass. With two CPUs one loses at most twice.
const ATTEMPTS: usize = 16;

/// What a packet of `bytes` bytes costs, in the time of a [`Limit`].
#[inline(always)]
#[must_use]
pub fn cost(limit: &Limit, bytes: usize) -> u64 {
    let amount = if limit.bits == 0 { 1 } else { bytes as u64 * 8 };
    (amount * limit.multiplier) >> (limit.shift & 63)
}

/// Takes `cost` out of a bucket at the time `now`. False: the packet exceeds the rate.
#[inline(never)]
#[must_use]
pub fn take(bucket: &Shared, limit: &Limit, cost: u64, now: u64) -> bool {
    for _ in 0..core::hint::black_box(ATTEMPTS) {
        let time = bucket.load();
        let ahead = time.wrapping_sub(now);
        // Behind the present (which wraps to a great number): the bucket is full. So it is where the time is farther
        // ahead than any packet moves it: then it is that of another rule, which had the slot before.
        let ahead = if ahead > limit.horizon { 0 } else { ahead };
        // A full bucket takes any packet, one that is larger than the burst too: it would never pass otherwise.
        if ahead != 0 && ahead + cost > limit.burst {
            return false;
        }
        if bucket.replace(time, now.wrapping_add(ahead + cost)) {
            return true;
        }
    }
    true
}

/// The key of a source's bucket.
#[inline(always)]
#[must_use]
pub fn source_key(limit: &Limit, slot: u16, version: u8, source: [u32; 4]) -> SourceKey {
    let length = u32::from(if version == 4 { limit.prefix_v4 } else { limit.prefix_v6 });
    let mut prefix = [0; 4];
    for (index, word) in prefix.iter_mut().enumerate() {
        *word = source[index] & word_mask(length, index as u32 * 32);
    }
    SourceKey { prefix, slot, version: u16::from(version) }
}

/// The mask of the 32 bits from bit `first` on of a prefix of `length` bits, in network order.
#[inline(always)]
fn word_mask(length: u32, first: u32) -> u32 {
    if length <= first {
        0
    } else if length >= first + 32 {
        u32::MAX
    } else {
        (u32::MAX << ((32 - (length - first)) & 31)).to_be()
    }
}
