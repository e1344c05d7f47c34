//! The lookups of the packet path against those of `sluice_prefix_table`, and against a search through all prefixes.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use common::{
    addresses::{around, prefix, words},
    memory::{Bytes, Memory},
};
use ipnet::IpNet;
use proptest::{collection::vec, prelude::*};
use sluice_ebpf::address::{Address, fixed_class, live_lists, live_version};
use sluice_ebpf_common::prefixes::live;
use sluice_prefix_table::{Layout, fixed, live::Table, lookup};

/// Every label that holds the address.
fn labels(prefixes: &[(IpNet, u8)], address: IpAddr) -> Vec<u8> {
    let holding = prefixes.iter().filter(|(prefix, _)| prefix.contains(&address));
    let mut labels: Vec<u8> = holding.map(|(_, label)| *label).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// The lists of all prefixes that hold the address; of a prefix that is there twice the last holds.
fn lists(prefixes: &[(IpNet, u64)], address: IpAddr) -> u64 {
    let is_last =
        |place: usize, prefix: IpNet| prefixes[place + 1..].iter().all(|(later, _)| *later != prefix);
    let holding = prefixes.iter().enumerate().filter(|(_, (prefix, _))| prefix.contains(&address));
    holding.filter(|(place, (prefix, _))| is_last(*place, *prefix)).fold(0, |all, (_, (_, mask))| all | mask)
}

/// Addresses at the bounds of prefixes, and others.
fn addresses<L>(prefixes: &[(IpNet, L)], others: (u32, u128)) -> Vec<IpAddr> {
    let random = [Ipv4Addr::from_bits(others.0).into(), Ipv6Addr::from_bits(others.1).into()];
    prefixes.iter().flat_map(|(prefix, _)| around(prefix)).chain(random).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_class_of_prefixes_that_rules_list(
        prefixes in vec((prefix(), 0..5_u8), 0..60),
        others in any::<(u32, u128)>(),
    ) {
        let table = fixed::build(prefixes.iter().copied()).unwrap();
        let memory = Memory::of(&table.memory);
        for address in addresses(&prefixes, others) {
            let (version, high, low) = halves(address);
            let class = fixed_class(&memory, version, high, low);
            prop_assert_eq!(class, u32::from(lookup(&table.memory, Layout::Fixed, address)), "{}", address);
            prop_assert_eq!(&table.classes[class as usize], &labels(&prefixes, address), "{}", address);
        }
    }

    #[test]
    fn the_lists_of_address_sets_after_each_change(
        changes in vec(vec((prefix(), any::<u64>()), 0..30), 1..4),
        others in any::<(u32, u128)>(),
    ) {
        let pages = live::LEAST_PAGES + 20;
        let (mut bytes, mut table) = (Bytes::new(pages), Table::new(pages));
        let mut all = vec![];
        for change in changes {
            table.change(&mut bytes, change.iter().copied()).unwrap();
            all.extend(change);
            let memory = Memory::of(&bytes.0);
            prop_assert_eq!(u64::from(live_version(&memory)), table.version());
            for address in addresses(&all, others) {
                let (version, high, low) = halves(address);
                let found = live_lists(&memory, live_version(&memory), version, high, low);
                let class = lookup(&bytes.0, Layout::Live { version: table.version() }, address);
                prop_assert_eq!(found, mask(&bytes, class), "{}", address);
                prop_assert_eq!(found, lists(&all, address), "{}", address);
            }
        }
    }
}

/// The IP version, and the address as the lookups take it.
fn halves(address: IpAddr) -> (u8, u64, u64) {
    let (version, words) = words(address);
    let Address { high, low } = Address::new(version, &words);
    (version, high, low)
}

fn mask(bytes: &Bytes, class: u16) -> u64 {
    let at = live::CLASSES + usize::from(class) * 8;
    if class == 0 { 0 } else { u64::from_ne_bytes(*bytes.0[at..].first_chunk().unwrap()) }
}

/// A packet that has read the version before a change sees the table as it was.
#[test]
fn the_version_before_a_change_still_answers_as_before() {
    let pages = live::LEAST_PAGES + 2;
    let (mut bytes, mut table) = (Bytes::new(pages), Table::new(pages));
    let (old, new) = ("192.0.2.0/25".parse().unwrap(), "192.0.2.0/24".parse().unwrap());
    table.change(&mut bytes, [(old, 1)]).unwrap();
    let before = u32::try_from(table.version()).unwrap();
    table.change(&mut bytes, [(new, 2), (old, 0)]).unwrap();
    let memory = Memory::of(&bytes.0);
    let (version, high, low) = halves("192.0.2.1".parse().unwrap());
    assert_ne!(live_version(&memory), before);
    assert_eq!(live_lists(&memory, before, version, high, low), 1);
    assert_eq!(live_lists(&memory, live_version(&memory), version, high, low), 2);
}

/// A program whose rules list no prefix has a table without a page that it could read.
#[test]
fn without_memory_there_is_no_class_and_no_list() {
    let (version, high, low) = halves("2001:db8::1".parse().unwrap());
    assert_eq!(fixed_class(&Memory::default(), version, high, low), 0);
    assert_eq!(live_lists(&Memory::default(), 0, version, high, low), 0);
}
