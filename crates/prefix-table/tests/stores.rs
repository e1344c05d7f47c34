//! Every single store of a change, as packets see it that run meanwhile; and memory over many changes.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;

use common::{Bytes, Numbers, address, around, net, units, v4, v6};
use ipnet::IpNet;
use sluice_ebpf_common::prefixes::{PAGE, UNIT, live};
use sluice_prefix_table::live::{MAX_CLASSES, Memory, Refused, Table};
use sluice_prefix_table::{Layout, lookup};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Memory that looks around after every store.
struct Watched {
    bytes: Bytes,
    /// Addresses with their lists before and after the change.
    samples: Vec<(IpAddr, [u64; 2])>,
    /// Before the change: the version, and the units that it refers to.
    version: u64,
    units: BTreeSet<usize>,
    stores: usize,
    flips: usize,
}

impl Watched {
    fn new(pages: usize) -> Self {
        Self {
            bytes: Bytes::new(pages),
            samples: Vec::new(),
            version: 0,
            units: BTreeSet::new(),
            stores: 0,
            flips: 0,
        }
    }

    /// All packets from before have ended.
    fn begin(&mut self, samples: Vec<(IpAddr, [u64; 2])>) {
        self.version = self.bytes.load_u64(live::STATE);
        self.units = units(&self.bytes, self.version).into_iter().collect();
        self.samples = samples;
        self.stores = 0;
        self.flips = 0;
    }

    fn mask(&self, version: u64, address: IpAddr) -> u64 {
        let class = lookup(&self.bytes.0, Layout::Live { version }, address);
        self.bytes.load_u64(live::CLASSES + usize::from(class) * 8)
    }
}

impl Memory for Watched {
    fn load_u64(&self, offset: usize) -> u64 {
        self.bytes.load_u64(offset)
    }

    fn store_u64(&mut self, offset: usize, value: u64) {
        self.stores += 1;
        assert!(!self.units.contains(&(offset / UNIT)), "a store into a node in force");
        assert_eq!(self.flips, 0, "a store behind the flip");
        self.bytes.store_u64(offset, value);
        let version = self.bytes.load_u64(live::STATE);
        self.flips += usize::from(version != self.version);
        for (address, [before, after]) in &self.samples {
            // Packets that began before the flip still look at the version of then.
            assert_eq!(self.mask(self.version, *address), *before, "{address} at store {}", self.stores);
            if version != self.version {
                assert_eq!(self.mask(version, *address), *after, "{address} at store {}", self.stores);
            }
        }
    }
}

fn mask(prefixes: &BTreeMap<IpNet, u64>, address: IpAddr) -> u64 {
    prefixes.iter().filter(|(prefix, _)| prefix.contains(&address)).fold(0, |all, (_, mask)| all | mask)
}

/// Prefixes that lie close together, and far ones.
fn random(numbers: &mut Numbers) -> IpNet {
    let length = (numbers.next() % 33) as u8;
    match numbers.next() % 4 {
        0 => v4(numbers.next_u32(), length.max(8)),
        1 => v4(0x0a01_0000 | numbers.next_u32() & 0x3ff, length.max(14)),
        2 => v6(0x2001_0db8 << 96 | u128::from(numbers.next() & 0xffff) << 48, 30 + length * 2),
        _ => v6(numbers.next_u128(), 20 + length * 3),
    }
}

#[test]
fn every_store_leaves_packets_before_or_after_the_change() {
    let pages = live::LEAST_PAGES + 20;
    let mut numbers = Numbers(11);
    let mut table = Table::new(pages);
    let mut memory = Watched::new(pages);
    let mut prefixes = BTreeMap::new();
    let mut stores = 0;
    for step in 0..25 {
        let mut changes: Vec<(IpNet, u64)> =
            (0..12).map(|_| (random(&mut numbers), 1 + numbers.next() % 5)).collect();
        changes.extend(prefixes.keys().step_by(7).map(|prefix| (*prefix, 0)));
        let before = prefixes.clone();
        prefixes.extend(changes.iter().copied());
        prefixes.retain(|_, mask| *mask != 0);
        let addresses = prefixes.keys().chain(before.keys()).step_by(1 + step / 8).flat_map(around);
        let samples = addresses.map(|address| (address, [mask(&before, address), mask(&prefixes, address)]));
        memory.begin(samples.collect());
        table.change(&mut memory, changes).unwrap();
        assert_eq!(memory.flips, 1);
        stores += memory.stores;
    }
    assert!(stores > 5000, "{stores}");
}

#[test]
fn a_refused_change_leaves_packets_alone() {
    let pages = live::LEAST_PAGES + 1;
    let mut numbers = Numbers(12);
    let mut table = Table::new(pages);
    let mut memory = Watched::new(pages);
    table
        .change(&mut memory, [(net("10.1.0.0/16"), 1), (net("10.1.2.0/24"), 2), (net("2001:db8::/40"), 4)])
        .unwrap();
    let samples = ["10.1.2.3", "10.1.3.3", "10.2.0.0", "2001:db8::1"].map(address);
    memory.begin(
        samples.into_iter().zip([3, 1, 0, 4]).map(|(address, mask)| (address, [mask, mask])).collect(),
    );
    let refused = table.change(&mut memory, (0..8000).map(|_| (random(&mut numbers), 8)));
    assert!(matches!(refused, Err(Refused::Full { .. })));
    assert_eq!(memory.flips, 0);
    assert!(memory.stores > 1000);
}

#[test]
fn numbers_of_classes_are_not_taken_from_packets() {
    let pages = live::LEAST_PAGES + 200;
    let mut table = Table::new(pages);
    let mut memory = Watched::new(pages);
    let most = MAX_CLASSES as u64;
    let prefix = |n: u64| v4(u32::try_from(n).unwrap() << 10, 32);
    table.change(&mut memory, (1..=most).map(|n| (prefix(n), n))).unwrap();
    // The classes of the first 50 are free when these changes are over, and not before.
    memory.begin(Vec::new());
    table.change(&mut memory, (1..=50).map(|n| (prefix(n), most))).unwrap();
    let changes = (51..=100).map(|n| (prefix(n), n << 32));
    let samples = (1..=150).map(|n| {
        let before = if n <= 50 { most } else { n };
        let after = if (51..=100).contains(&n) { n << 32 } else { before };
        (prefix(n).addr(), [before, after])
    });
    memory.begin(samples.collect());
    table.change(&mut memory, changes).unwrap();
    assert_eq!(memory.flips, 1);
    assert_eq!(table.classes(), MAX_CLASSES);
}

/// Not so short that one change could touch much of the table.
fn random_long(numbers: &mut Numbers) -> IpNet {
    let length = (numbers.next() % 8) as u8;
    match numbers.next() % 4 {
        0 => v4(numbers.next_u32(), 32 - length),
        1 => v4(0x0a01_0000 | numbers.next_u32() & 0xf_ffff, 32 - length),
        2 => v6(0x2001_0db8 << 96 | u128::from(numbers.next() & 0xffff) << 48, 64 + length * 4),
        _ => v6(numbers.next_u128(), 64 + length * 4),
    }
}

#[test]
fn a_thousand_changes_do_not_grow() {
    let mut numbers = Numbers(13);
    let mut prefixes: Vec<IpNet> = (0..4000).map(|_| random_long(&mut numbers)).collect();
    let first: Vec<_> = (0..).zip(&prefixes).map(|(n, prefix)| (*prefix, 1 + n % 3)).collect();
    // Half more than needed at first; a leak would fill that in some ten changes.
    let pages = live::LEAST_PAGES + node_bytes(first.iter().copied()) * 3 / 2 / PAGE;
    let mut table = Table::new(pages);
    let mut memory = Bytes::new(pages);
    table.change(&mut memory, first).unwrap();
    for step in 0..1000 {
        let mut changes = BTreeMap::new();
        for _ in 0..20 {
            let index = usize::try_from(numbers.next()).unwrap() % prefixes.len();
            changes.insert(prefixes[index], 0);
            prefixes[index] = random_long(&mut numbers);
            changes.insert(prefixes[index], 1 + step % 3);
        }
        table.change(&mut memory, changes).unwrap();
    }
    // What the last change has left is freed by one more.
    table.change(&mut memory, [(net("200.0.0.0/32"), 1)]).unwrap();
    let nodes = table.bytes_used() - live::NODES;
    let anew = node_bytes(table.prefixes());
    assert!(nodes <= anew + 1024, "{nodes} bytes, {anew} when built anew");
}

fn node_bytes(prefixes: impl Iterator<Item = (IpNet, u64)>) -> usize {
    let mut table = Table::new(2000);
    table.change(&mut Bytes::new(2000), prefixes).unwrap();
    table.bytes_used() - live::NODES
}
