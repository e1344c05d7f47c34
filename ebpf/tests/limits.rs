//! Buckets: never off by more than a packet, whatever comes when.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::{collection::vec, prelude::*};
use sluice_ebpf::{
    bucket::Shared,
    limit::{cost, source_key, take},
};
use sluice_ebpf_common::tables::{Limit, RATE_SHIFT};

const SECOND: u64 = 1_000_000_000;
/// Of a multiplier: with it a cost is exact to two millionths at every rate that is tried here.
const SHIFT: u8 = 16;
/// Some time after a start, as limits count it.
const START: u64 = (100 * SECOND) << RATE_SHIFT;
/// The largest frame, in bits.
const LARGEST: u64 = 65_535 * 8;

/// `amount` packets or bits a second, with a burst of `burst` of them.
fn limit(amount: u64, burst: u64, bits: bool) -> Limit {
    let one = (u128::from(SECOND) << (RATE_SHIFT + u32::from(SHIFT))) / u128::from(amount);
    let multiplier = u64::try_from(one).unwrap();
    let time = |amount: u64| u64::try_from((u128::from(amount) * one) >> SHIFT).unwrap();
    let largest = if bits { LARGEST } else { 1 };
    Limit {
        multiplier,
        shift: SHIFT,
        bits: u8::from(bits),
        burst: time(burst),
        horizon: time(burst + largest),
        ..Limit::default()
    }
}

/// Long after a start, and near the end of what a clock of 64 bits holds.
fn starts() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1), Just(START), Just(u64::MAX - 1000)]
}

/// Bursts, steady trickles, and silences.
fn gaps() -> impl Strategy<Value = Vec<u64>> {
    vec(prop_oneof![4 => Just(0), 4 => 0..2_000_u64, 2 => 0..2_000_000_u64, 1 => 0..SECOND], 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A plain bucket of fractions beside it: what passed may differ by one packet.
    #[test]
    fn packets_within_one_of_a_plain_bucket(
        rate in prop_oneof![Just(1), 2..1_000_u64, 1_000..2_000_000_u64],
        burst in 1..500_u64,
        start in starts(),
        gaps in gaps(),
    ) {
        let (limit, bucket) = (limit(rate, burst, false), Shared::new(0));
        let (mut now, mut tokens, mut plain, mut passed) = (start, burst as f64, 0_i64, 0_i64);
        for gap in gaps {
            now = now.wrapping_add(gap << RATE_SHIFT);
            tokens = (tokens + gap as f64 * rate as f64 / SECOND as f64).min(burst as f64);
            if tokens >= 1.0 - 1e-6 {
                tokens -= 1.0;
                plain += 1;
            }
            passed += i64::from(take(&bucket, &limit, cost(&limit, 60), now));
            prop_assert!((plain - passed).abs() <= 1, "{} instead of {}", passed, plain);
        }
    }

    /// From any packet to any later one no more passes than the time between them and the burst allow.
    #[test]
    fn bits_never_above_rate_and_burst(
        rate in 1_000..10_000_000_000_u64,
        burst in LARGEST..10 * LARGEST,
        start in starts(),
        arrivals in vec((0..100_000_u64, 60..9000_usize), 1..500),
    ) {
        let (limit, bucket) = (limit(rate, burst, true), Shared::new(0));
        let (mut now, mut elapsed, mut passed) = (start, 0, vec![]);
        for (gap, bytes) in arrivals {
            (now, elapsed) = (now.wrapping_add(gap << RATE_SHIFT), elapsed + gap);
            if take(&bucket, &limit, cost(&limit, bytes), now) {
                passed.push((elapsed, bytes as f64 * 8.0));
            }
        }
        for from in 0..passed.len() {
            let mut bits = 0.0;
            for (at, amount) in &passed[from..] {
                bits += amount;
                let allowed = burst as f64 + (at - passed[from].0) as f64 * rate as f64 / SECOND as f64;
                // The arithmetic rounds down: the multiplier, and the cost of each packet by less than a bit.
                let allowed = allowed * 1.000_002 + passed.len() as f64;
                prop_assert!(bits <= allowed, "{} bits where {} are allowed", bits, allowed);
            }
        }
    }

    /// The time of another rule, which had the slot before: the bucket is full, and then works as any other.
    #[test]
    fn a_stale_bucket_heals(stale in any::<u64>(), rate in 1..1_000_000_u64, burst in 1..100_u64) {
        let (limit, now) = (limit(rate, burst, false), START);
        let one = cost(&limit, 60);
        let ahead = stale.wrapping_sub(now);
        prop_assume!(ahead == 0 || ahead > limit.horizon);
        let bucket = Shared::new(stale);
        let passed = (0..2 * burst).filter(|_| take(&bucket, &limit, one, now)).count();
        prop_assert_eq!(passed as u64, burst);
    }

    /// Whatever a bucket holds, after a horizon without packets it is full.
    #[test]
    fn any_bucket_is_full_after_the_horizon(before in any::<u64>(), rate in 1..1_000_000_u64, burst in 1..100_u64) {
        let limit = limit(rate, burst, false);
        let start = START;
        let bucket = Shared::new(before);
        let one = cost(&limit, 60);
        let first = take(&bucket, &limit, one, start);
        let later = start + limit.horizon + one + 1;
        let passed = (0..2 * burst).filter(|_| take(&bucket, &limit, one, later)).count();
        prop_assert_eq!(passed as u64, burst, "the first passed: {}", first);
    }

    #[test]
    fn a_full_bucket_takes_a_packet_that_is_larger_than_the_burst(
        rate in 1_000..10_000_000_000_u64,
        bytes in 100..9000_usize,
    ) {
        let (limit, bucket) = (limit(rate, 8 * 64, true), Shared::new(0));
        let now = START;
        let cost = cost(&limit, bytes);
        prop_assert!(cost > limit.burst);
        prop_assert!(take(&bucket, &limit, cost, now));
        prop_assert!(!take(&bucket, &limit, cost, now), "it is paid for");
        prop_assert!(!take(&bucket, &limit, cost, now + cost - 1), "to the end");
        prop_assert!(take(&bucket, &limit, cost, now + cost));
    }

    #[test]
    fn sources_of_a_prefix_share_a_key_and_no_others(
        one in any::<u128>(),
        differing in 0..128_u32,
        length in 1..=128_u8,
    ) {
        let limit = Limit { prefix_v6: length, ..Limit::default() };
        let key = |address: u128| {
            let octets = address.to_be_bytes();
            let words = octets.as_chunks::<4>().0;
            source_key(&limit, 7, 6, std::array::from_fn(|word| u32::from_ne_bytes(words[word])))
        };
        // The bit with this number, counted from the first.
        let other = one ^ 1 << (127 - differing);
        prop_assert_eq!(key(one) == key(other), differing >= u32::from(length));
    }

    #[test]
    fn likewise_of_ipv4(one in any::<u32>(), differing in 0..32_u32, length in 1..=32_u8) {
        let limit = Limit { prefix_v4: length, prefix_v6: 1, ..Limit::default() };
        let key = |address: u32| source_key(&limit, 7, 4, [u32::from_ne_bytes(address.to_be_bytes()), 0, 0, 0]);
        prop_assert_eq!(key(one) == key(one ^ 1 << (31 - differing)), differing >= u32::from(length));
    }
}

#[test]
fn rules_and_versions_have_keys_of_their_own() {
    let limit = Limit { prefix_v4: 32, prefix_v6: 32, ..Limit::default() };
    let source = [1, 0, 0, 0];
    assert_ne!(source_key(&limit, 7, 4, source), source_key(&limit, 8, 4, source));
    assert_ne!(source_key(&limit, 7, 4, source), source_key(&limit, 7, 6, source));
}

/// However CPUs come in each other's way, together they take what is in the bucket. One in sixteen losses in turn lets a packet
/// pass, which does not happen with so few.
#[test]
fn cpus_share_a_bucket() {
    let (limit, bucket, passed) = (limit(1, 10_000, false), Shared::new(0), AtomicU64::new(0));
    let (one, now) = (cost(&limit, 60), START);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    passed.fetch_add(u64::from(take(&bucket, &limit, one, now)), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(passed.into_inner(), 10_000);
}
