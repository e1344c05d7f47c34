//! Fixed tables against the list of their prefixes.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;

use common::{address, around, net, prefix, v4, v6};
use ipnet::IpNet;
use proptest::prelude::*;
use sluice_ebpf_common::prefixes::PAGE;
use sluice_prefix_table::fixed::{FixedTable, MAX_CLASSES, TooManyClasses, build};
use sluice_prefix_table::{Layout, lookup};
use std::net::IpAddr;

fn labels(table: &FixedTable<u32>, address: IpAddr) -> &[u32] {
    &table.classes[usize::from(lookup(&table.memory, Layout::Fixed, address))]
}

fn expected(prefixes: &[(IpNet, u32)], address: IpAddr) -> Vec<u32> {
    let mut labels: Vec<u32> =
        prefixes.iter().filter(|(prefix, _)| prefix.contains(&address)).map(|(_, label)| *label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

fn check(prefixes: &[(IpNet, u32)]) {
    check_every(1, prefixes);
}

/// Looks around every so many-th prefix.
fn check_every(step: usize, prefixes: &[(IpNet, u32)]) {
    let table = build(prefixes.iter().copied()).unwrap();
    assert_eq!(table.memory.len() % PAGE, 0);
    assert!(table.classes[0].is_empty());
    for address in prefixes.iter().step_by(step).flat_map(|(prefix, _)| around(prefix)) {
        assert_eq!(labels(&table, address), expected(prefixes, address), "{address} in {prefixes:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn few_prefixes(prefixes in prop::collection::vec((prefix(), 0..6_u32), 0..12)) {
        check(&prefixes);
    }

    #[test]
    fn many_prefixes_and_many_classes(prefixes in prop::collection::vec((prefix(), 0..4096_u32), 0..400)) {
        check(&prefixes);
    }
}

#[test]
fn classes_above_those_of_octet_slots() {
    let prefixes: Vec<_> = (0..2600).map(|n| (v4(0x0a00_0000 + n * 0x101, 32), n)).collect();
    check_every(50, &prefixes);
    let prefixes: Vec<_> = (0..2600).map(|n| (v6(u128::from(n) << 88 | 0x20 << 120, 40), n)).collect();
    check_every(50, &prefixes);
}

#[test]
fn no_prefixes() {
    let table: FixedTable<u32> = build(std::iter::empty()).unwrap();
    assert_eq!(table.classes, [[]; 1]);
    for text in ["0.0.0.0", "255.255.255.255", "::", "ffff::1"] {
        assert_eq!(lookup(&table.memory, Layout::Fixed, address(text)), 0);
    }
}

#[test]
fn pol_04_whole_families() {
    for whole in [&["0.0.0.0/0"][..], &["0.0.0.0/1", "128.0.0.0/1"]] {
        let deny = whole.iter().map(|text| (net(text), 2));
        let table = build(deny.chain([(net("192.0.2.0/24"), 1)])).unwrap();
        assert_eq!(labels(&table, address("192.0.2.10")), [1, 2]);
        assert_eq!(labels(&table, address("203.0.113.5")), [2]);
        assert_eq!(labels(&table, address("255.255.255.255")), [2]);
        assert_eq!(labels(&table, address("0.0.0.0")), [2]);
        assert!(labels(&table, address("2001:db8:1::10")).is_empty());
        assert!(labels(&table, address("::1")).is_empty());
    }
    let table = build([(net("::/1"), 1), (net("8000::/1"), 1)].into_iter()).unwrap();
    assert_eq!(labels(&table, address("2001:db8:1::10")), [1]);
    assert!(labels(&table, address("192.0.2.10")).is_empty());
}

#[test]
fn more_classes_than_numbers_are_refused() {
    let prefixes = |count: u32| (0..count).map(|n| (v4(n << 8, 32), n));
    let most = u32::try_from(MAX_CLASSES).unwrap();
    assert_eq!(build(prefixes(most)).unwrap().classes.len(), MAX_CLASSES + 1);
    assert_eq!(build(prefixes(most + 1)), Err(TooManyClasses));
}
