//! What a verdict depends on beside rules and packet: who is in which address set, and which rate is used up.
//! There is no clock here: whoever asks says what time it is.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::Packet;
use crate::{RateLimit, RateUnit};

/// Who is in which address set.
pub trait Sets {
    /// Whether the set with this name holds the address. A set that is not there holds none.
    fn contains(&self, set: &str, address: IpAddr) -> bool;
}

/// There are no sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSets;

impl Sets for NoSets {
    fn contains(&self, _: &str, _: IpAddr) -> bool {
        false
    }
}

impl Sets for BTreeMap<String, Vec<IpNet>> {
    fn contains(&self, set: &str, address: IpAddr) -> bool {
        self.get(set).is_some_and(|prefixes| prefixes.iter().any(|prefix| prefix.contains(&address)))
    }
}

/// Which rate is used up.
pub trait Limits {
    /// Whether the packet is within the limit of the rule with this index; if it is, it spends its share.
    fn within(&mut self, rule: usize, limit: &RateLimit, packet: &Packet) -> bool;
}

/// Every packet is within every limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Limits for Unlimited {
    fn within(&mut self, _: usize, _: &RateLimit, _: &Packet) -> bool {
        true
    }
}

/// Every packet exceeds every limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exhausted;

impl Limits for Exhausted {
    fn within(&mut self, _: usize, _: &RateLimit, _: &Packet) -> bool {
        false
    }
}

const NANOSECONDS: i128 = 1_000_000_000;

/// Token buckets without a bound on the number of sources. Each begins full.
#[derive(Clone, Debug, Default)]
pub struct TokenBuckets {
    /// The time, in nanoseconds from any start; it never goes back.
    pub now: u64,
    buckets: BTreeMap<(usize, Option<IpNet>), Bucket>,
}

/// Tokens are counted in billionths, so that a rate in seconds and a time in nanoseconds need no division.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Below 0 after a packet that is larger than the bucket.
    tokens: i128,
    filled_at: u64,
}

impl Limits for TokenBuckets {
    fn within(&mut self, rule: usize, limit: &RateLimit, packet: &Packet) -> bool {
        let Some(source) = bucket_source(limit, packet) else {
            // A packet that shows no source has no bucket, and what has none is never dropped.
            return true;
        };
        let full = i128::from(limit.burst) * NANOSECONDS;
        let now = self.now;
        let bucket = self.buckets.entry((rule, source)).or_insert(Bucket { tokens: full, filled_at: now });
        let gained = i128::from(now - bucket.filled_at) * i128::from(limit.rate);
        bucket.tokens = full.min(bucket.tokens + gained);
        bucket.filled_at = now;
        let cost = cost(limit.unit, packet);
        // A full bucket takes any packet: one that is larger than the burst would never pass otherwise.
        let takes = bucket.tokens == full || cost <= bucket.tokens;
        if takes {
            bucket.tokens -= cost;
        }
        takes
    }
}

/// The prefix whose bucket is asked (`Some(None)`: the one of all packets), or nothing if it is unknown.
fn bucket_source(limit: &RateLimit, packet: &Packet) -> Option<Option<IpNet>> {
    let Some(prefix) = limit.per_source else {
        return Some(None);
    };
    let source = packet.source?;
    let length = if source.is_ipv4() { prefix.v4 } else { prefix.v6 };
    IpNet::new(source, length).ok().map(|prefix| Some(prefix.trunc()))
}

fn cost(unit: RateUnit, packet: &Packet) -> i128 {
    match unit {
        RateUnit::Packets => NANOSECONDS,
        RateUnit::Bits => i128::try_from(packet.frame_length).unwrap_or(i128::MAX >> 40) * 8 * NANOSECONDS,
    }
}
