//! The live table against the list of its prefixes, after every change of a series.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;

use common::{Bytes, Numbers, address, around, net, prefix, units, v4, v6};
use ipnet::IpNet;
use proptest::prelude::*;
use sluice_ebpf_common::prefixes::{UNIT, live};
use sluice_prefix_table::live::{Change, MAX_CLASSES, Refused, Table, required_pages};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

const PAGES: usize = live::LEAST_PAGES + 40;

/// A table, its memory, and what it should hold.
struct Checked {
    table: Table,
    memory: Bytes,
    prefixes: BTreeMap<IpNet, u64>,
    addresses: Vec<IpAddr>,
}

impl Checked {
    fn new(pages: usize) -> Self {
        Self {
            table: Table::new(pages),
            memory: Bytes::new(pages),
            prefixes: BTreeMap::new(),
            addresses: Vec::new(),
        }
    }

    fn change(&mut self, changes: &[(IpNet, u64)]) -> Result<Change, Refused> {
        self.addresses.extend(changes.iter().flat_map(|(prefix, _)| around(prefix)));
        let result = self.table.change(&mut self.memory, changes.iter().copied());
        if result.is_ok() {
            for (prefix, mask) in changes {
                self.prefixes.insert(*prefix, *mask);
            }
            self.prefixes.retain(|_, mask| *mask != 0);
        }
        self.check();
        result
    }

    fn check(&self) {
        for address in &self.addresses {
            assert_eq!(
                self.memory.mask(*address),
                self.expected(*address),
                "{address} in {:?}",
                self.prefixes
            );
        }
        self.check_units();
        assert_eq!(self.table.entries(), self.prefixes.len());
        assert!(self.table.prefixes().eq(self.prefixes.iter().map(|(prefix, mask)| (*prefix, *mask))));
    }

    /// Within a version no two nodes overlap, and nothing else than the nodes of both is taken.
    fn check_units(&self) {
        let versions = [0, 1].map(|version| units(&self.memory, version));
        let sets = versions.each_ref().map(|units| units.iter().copied().collect::<BTreeSet<_>>());
        assert_eq!(versions.map(|units| units.len()), sets.each_ref().map(BTreeSet::len));
        assert_eq!(self.table.bytes_used(), live::NODES + sets[0].union(&sets[1]).count() * UNIT);
    }

    fn expected(&self, address: IpAddr) -> u64 {
        self.prefixes
            .iter()
            .filter(|(prefix, _)| prefix.contains(&address))
            .fold(0, |all, (_, mask)| all | mask)
    }

    fn holds(&self, text: &str) -> bool {
        self.memory.mask(address(text)) != 0
    }
}

fn changes(most: usize) -> impl Strategy<Value = Vec<(IpNet, u64)>> {
    // Few masks, so that neighbours are often equal; a third of the changes removes.
    prop::collection::vec((prefix(), prop_oneof![Just(0), 1..4_u64, Just(1 << 63)]), 0..most)
}

/// Later steps name prefixes of earlier ones again, to change and remove what is there.
fn series() -> impl Strategy<Value = Vec<Vec<(IpNet, u64)>>> {
    let steps = prop::collection::vec(changes(30), 1..6);
    let again =
        prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3_u64), 0..60);
    (steps, again).prop_map(|(mut steps, again)| {
        let named: Vec<IpNet> = steps.iter().flatten().map(|(prefix, _)| *prefix).collect();
        for (step, which, mask) in again.into_iter().filter(|_| !named.is_empty()) {
            let step = step.index(steps.len());
            steps[step].push((*which.get(&named), mask));
        }
        steps
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn series_of_changes(series in series()) {
        let mut checked = Checked::new(PAGES);
        for changes in series {
            checked.change(&changes).unwrap();
        }
        let mut elsewhere = Bytes::new(PAGES);
        checked.table.move_to(&mut elsewhere, PAGES).unwrap();
        checked.memory = elsewhere;
        checked.check();
        let all: Vec<_> = checked.prefixes.keys().map(|prefix| (*prefix, 0)).collect();
        checked.change(&all).unwrap();
        checked.change(&[(net("10.0.0.0/8"), 1)]).unwrap();
        checked.change(&[(net("10.0.0.0/8"), 0)]).unwrap();
        // Nothing that the last changes left is still taken.
        checked.change(&[(net("10.0.0.0/8"), 1)]).unwrap();
        prop_assert_eq!(checked.table.bytes_used(), live::NODES);
    }

    #[test]
    fn many_in_one_place(first in changes(150), second in changes(15)) {
        let mut checked = Checked::new(PAGES);
        checked.change(&first).unwrap();
        checked.change(&second).unwrap();
    }
}

#[test]
fn an_empty_table_holds_nothing() {
    let memory = Bytes::new(PAGES);
    for text in ["0.0.0.0", "255.255.255.255", "::", "ffff::1"] {
        assert_eq!(memory.mask(address(text)), 0);
    }
}

#[test]
fn cidr_04_a_prefix_under_another_outlives_it() {
    let mut checked = Checked::new(PAGES);
    checked.change(&[(net("10.0.0.0/8"), 1), (net("10.1.0.0/16"), 1)]).unwrap();
    checked.change(&[(net("10.0.0.0/8"), 0)]).unwrap();
    assert!(checked.holds("10.1.0.0") && checked.holds("10.1.255.255"));
    assert!(!checked.holds("10.0.255.255") && !checked.holds("10.2.0.0"));
}

#[test]
fn cidr_09_whole_families() {
    let mut checked = Checked::new(PAGES);
    checked.change(&[(net("0.0.0.0/0"), 1), (net("192.0.2.0/24"), 1)]).unwrap();
    assert!(checked.holds("0.0.0.0") && checked.holds("255.255.255.255") && checked.holds("192.0.2.53"));
    assert!(!checked.holds("::") && !checked.holds("2001:db8::1"));
    checked.change(&[(net("::/0"), 1), (net("0.0.0.0/0"), 0)]).unwrap();
    assert!(checked.holds("::") && checked.holds("ffff::1") && checked.holds("192.0.2.53"));
    assert!(!checked.holds("198.51.100.20"));
}

#[test]
fn cidr_10_nested_prefixes_come_and_go() {
    let mut checked = Checked::new(PAGES);
    checked.change(&[(net("203.0.113.64/26"), 1), (net("2001:db8:4880::/48"), 1)]).unwrap();
    for text in ["203.0.113.64", "203.0.113.100", "203.0.113.127", "2001:db8:4880:ffff::1"] {
        assert!(checked.holds(text), "{text}");
    }
    assert!(!checked.holds("203.0.113.128"));
    checked.change(&[(net("203.0.113.0/24"), 1), (net("203.0.113.96/32"), 1)]).unwrap();
    assert!(checked.holds("203.0.113.1") && checked.holds("203.0.113.96"));
    checked.change(&[(net("203.0.113.64/26"), 0)]).unwrap();
    assert!(checked.holds("203.0.113.100"));
    checked.change(&[(net("203.0.113.0/24"), 0)]).unwrap();
    assert!(checked.holds("203.0.113.96"));
    assert!(!checked.holds("203.0.113.97") && !checked.holds("203.0.113.64"));
    checked.change(&[(net("203.0.113.96/32"), 0)]).unwrap();
    assert!(!checked.holds("203.0.113.96") && checked.holds("2001:db8:4880::1"));
}

#[test]
fn pol_04_two_halves_are_a_family() {
    let mut checked = Checked::new(PAGES);
    checked.change(&[(net("0.0.0.0/1"), 1), (net("128.0.0.0/1"), 1)]).unwrap();
    for text in ["0.0.0.0", "127.255.255.255", "128.0.0.0", "203.0.113.5", "255.255.255.255"] {
        assert!(checked.holds(text), "{text}");
    }
    assert!(!checked.holds("2001:db8:1::10") && !checked.holds("::1"));
}

#[test]
fn a_change_of_nothing_is_none() {
    let mut checked = Checked::new(PAGES);
    checked.change(&[(net("10.0.0.0/8"), 5)]).unwrap();
    let version = checked.table.version();
    let change = checked.change(&[(net("10.0.0.0/8"), 5), (net("192.0.2.0/24"), 0)]).unwrap();
    assert_eq!(change, Change::default());
    assert_eq!(checked.table.version(), version);
    assert_eq!(checked.table.mask(&net("10.0.0.0/8")), 5);
}

#[test]
fn a_full_table_stays_as_it_was_and_can_move() {
    let pages = live::LEAST_PAGES + 2;
    let mut checked = Checked::new(pages);
    let mut numbers = Numbers(3);
    let first: Vec<_> = (0..500).map(|_| (v4(numbers.next_u32(), 32), 1)).collect();
    checked.change(&first).unwrap();
    let many: Vec<_> = (0..6000).map(|n| (v6(u128::from(numbers.next()) << 64, 64), 1 + n % 3)).collect();
    checked.addresses.truncate(2000);
    let used = checked.table.bytes_used();
    let refused = checked.table.change(&mut checked.memory, many.iter().copied());
    let Err(Refused::Full { pages: needed }) = refused else { unreachable!("{refused:?}") };
    assert!(needed > pages);
    assert_eq!(checked.table.bytes_used(), used);
    checked.check();
    // It goes on working, several times.
    for mask in [0, 2, 3] {
        checked.change(&[(first[0].0, mask), (first[7].0, mask)]).unwrap();
        let refused = checked.table.change(&mut checked.memory, many.iter().copied());
        assert!(matches!(refused, Err(Refused::Full { .. })), "{refused:?}");
        checked.check();
    }
    let mut larger = Bytes::new(needed);
    checked.table.move_to(&mut larger, needed).unwrap();
    checked.memory = larger;
    checked.check();
    checked.table.change(&mut checked.memory, many.iter().copied()).unwrap();
    assert!(many.iter().all(|(prefix, mask)| checked.memory.mask(prefix.addr()) == *mask));
    // A memory that is too small is refused, and the table stays where it is.
    let moved = checked.table.move_to(&mut Bytes::new(pages), pages);
    assert!(matches!(moved, Err(Refused::Full { .. })), "{moved:?}");
    checked.table.change(&mut checked.memory, [(many[0].0, 9)]).unwrap();
    assert_eq!(checked.memory.mask(many[0].0.addr()), 9);
}

#[test]
fn numbers_of_classes_are_used_again_and_their_lack_is_refused() {
    let pages = live::LEAST_PAGES + 200;
    let mut table = Table::new(pages);
    let mut memory = Bytes::new(pages);
    let prefixes = |masks: std::ops::Range<u64>| {
        (0..).zip(masks).map(|(n, mask)| (v4(n << 10, 32), mask)).collect::<Vec<_>>()
    };
    let most = MAX_CLASSES as u64;
    table.change(&mut memory, prefixes(1..most + 1)).unwrap();
    assert_eq!(table.classes(), MAX_CLASSES);
    let refused = table.change(&mut memory, [(net("200.0.0.0/8"), most + 1)]);
    assert_eq!(refused, Err(Refused::TooManyClasses));
    assert_eq!(memory.mask(address("200.0.0.1")), 0);
    // One number is freed by the first change, and found by the second.
    table.change(&mut memory, [(v4(0, 32), 2)]).unwrap();
    table.change(&mut memory, [(net("200.0.0.0/8"), most + 1)]).unwrap();
    assert_eq!(memory.mask(address("200.0.0.1")), most + 1);
    for (prefix, mask) in prefixes(1..most + 1).into_iter().skip(1) {
        assert_eq!(memory.mask(prefix.addr()), mask, "{prefix}");
    }
}

#[test]
fn required_pages_suffice_for_random_prefixes() {
    let mut numbers = Numbers(9);
    for count in [0, 100, 30_000] {
        let pages = required_pages(count, count);
        let mut table = Table::new(pages);
        let mut memory = Bytes::new(pages);
        let v4 = (0..count).map(|_| v4(numbers.next_u32(), 32)).collect::<Vec<_>>();
        let v6 = (0..count).map(|_| v6(numbers.next_u128(), 64)).collect::<Vec<_>>();
        table.change(&mut memory, v4.into_iter().chain(v6).map(|prefix| (prefix, 1))).unwrap();
    }
}
