//! The state of rate limits: one time a bucket, which all CPUs share and move on by compare and exchange.

use crate::RULE_SLOTS;

/// Elements of the array `BUCKETS`, a `u64` each: by counter slot of the rule the time of a bucket that all packets share.
pub const BUCKETS: usize = RULE_SLOTS + 1;
/// The element of `BUCKETS` that counts entries made in the map `SOURCES`. What is there no longer was recycled.
pub const SOURCES_CREATED: usize = RULE_SLOTS;

/// Key of the map `SOURCES`, of which the value is a bucket's time.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub struct SourceKey {
    /// The prefix in network order; an IPv4 prefix fills the first element.
    pub prefix: [u32; 4],
    /// Counter slot of the rule.
    pub slot: u16,
    /// IP version, 4 or 6.
    pub version: u16,
}

const _: () = assert!(size_of::<SourceKey>() == 20);

// SAFETY: repr(C), only integers, no padding (the size is asserted above).
#[cfg(feature = "user")]
unsafe impl aya::Pod for SourceKey {}
