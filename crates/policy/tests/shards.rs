//! Cutting a list into sets: whatever the lists are, the shards are the list, and what did not change is not
//! touched.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;
use sluice_policy::cidr_set::shards::{Limits, Plan, Shard, plan};

const LIMITS: Limits = Limits { entries: 40, bytes: 1000 };

fn v4(number: u32) -> IpNet {
    Ipv4Net::new(Ipv4Addr::from(number), 32).unwrap().into()
}

/// Every seventh address from 10.0.0.0 on.
fn list(length: u32) -> Vec<IpNet> {
    (0..length).map(|number| v4(0x0a00_0000 + 7 * number)).collect()
}

fn prefix() -> impl Strategy<Value = IpNet> {
    let v4 = (0_u32..300, 24_u8..=32).prop_map(|(number, length)| {
        IpNet::V4(Ipv4Net::new(Ipv4Addr::from(0x0a00_0000 + 50 * number), length).unwrap().trunc())
    });
    let v6 = (0_u128..100, 40_u8..=128).prop_map(|(number, length)| {
        let address = Ipv6Addr::from((0x2001_0db8_u128 << 96) + (number << 70) + number);
        IpNet::V6(Ipv6Net::new(address, length).unwrap().trunc())
    });
    prop_oneof![3 => v4, 1 => v6]
}

fn prefixes() -> impl Strategy<Value = Vec<IpNet>> {
    proptest::collection::btree_set(prefix(), 0..300).prop_map(|set| set.into_iter().collect())
}

/// What lies in the directory after each step of carrying the plan out.
fn carry_out(before: &[Shard], plan: &Plan) -> Vec<BTreeMap<u32, Vec<IpNet>>> {
    let mut files: BTreeMap<u32, Vec<IpNet>> =
        before.iter().map(|shard| (shard.index, shard.prefixes.clone())).collect();
    let mut steps = Vec::new();
    for shard in &plan.shards {
        files.insert(shard.index, shard.prefixes.clone());
        steps.push(files.clone());
    }
    for index in &plan.removed {
        files.remove(index).expect("only what is there is removed");
        steps.push(files.clone());
    }
    steps
}

fn touched(before: &[Shard], plan: &Plan) -> usize {
    plan.shards.iter().filter(|shard| !before.contains(shard)).count() + plan.removed.len()
}

fn check_sound(before: &[Shard], old: &[IpNet], new: &[IpNet]) -> Result<Vec<Shard>, TestCaseError> {
    let plan = plan(before, new, LIMITS);
    let stays: BTreeSet<IpNet> =
        old.iter().filter(|prefix| new.binary_search(prefix).is_ok()).copied().collect();
    for files in carry_out(before, &plan) {
        let there: BTreeSet<IpNet> = files.into_values().flatten().collect();
        prop_assert!(stays.is_subset(&there), "a prefix that stays is missing for a moment");
    }
    let mut all: Vec<IpNet> = plan.shards.iter().flat_map(|shard| shard.prefixes.clone()).collect();
    all.sort_unstable();
    prop_assert_eq!(&all, new, "the shards together are the list, each prefix once");
    for shard in &plan.shards {
        let bytes: usize = shard.prefixes.iter().map(|prefix| prefix.to_string().len() + 3).sum();
        prop_assert!(shard.prefixes.len() <= LIMITS.entries && bytes <= LIMITS.bytes);
        prop_assert!(!shard.prefixes.is_empty() || new.is_empty());
    }
    Ok(plan.shards)
}

proptest! {
    #[test]
    fn shards_are_the_list_after_any_change_and_nothing_that_stays_is_missing_meanwhile(
        lists in proptest::collection::vec(prefixes(), 1..6)
    ) {
        let (mut shards, mut old) = (Vec::new(), Vec::new());
        for new in lists {
            shards = check_sound(&shards, &old, &new)?;
            prop_assert_eq!(touched(&shards, &plan(&shards, &new, LIMITS)), 0, "the same list changes nothing");
            old = new;
        }
    }

    #[test]
    fn whatever_lies_there_the_shards_become_the_list(
        there in proptest::collection::vec(prefixes(), 0..5), new in prefixes()
    ) {
        let before: Vec<Shard> =
            (0..).zip(there.clone()).map(|(number, prefixes)| Shard { index: 3 * number, prefixes }).collect();
        let old: BTreeSet<IpNet> = there.into_iter().flatten().collect();
        check_sound(&before, &old.into_iter().collect::<Vec<_>>(), &new)?;
    }

    #[test]
    fn a_changed_entry_touches_at_most_the_shards_around_it(
        list in prefixes(), added in prefix(), removed in any::<prop::sample::Index>()
    ) {
        let shards = plan(&[], &list, LIMITS).shards;
        let mut more: BTreeSet<IpNet> = list.iter().copied().collect();
        more.insert(added);
        let more: Vec<IpNet> = more.into_iter().collect();
        prop_assert!(touched(&shards, &plan(&shards, &more, LIMITS)) <= 2, "one shard, or one that is split");
        if !list.is_empty() {
            let mut fewer = list.clone();
            fewer.remove(removed.index(list.len()));
            prop_assert!(touched(&shards, &plan(&shards, &fewer, LIMITS)) <= 3, "one shard, merged with one or both sides");
        }
    }
}

/// Half of the change is in one place, which is two shards; half of it in another, which is one.
#[test]
fn a_change_of_one_percent_in_two_places_touches_few_of_many_shards() {
    let limits = Limits { entries: 4_000, bytes: 100_000 };
    let old = list(100_000);
    let shards = plan(&[], &old, limits).shards;
    assert_eq!(shards.len(), 34);
    let removed = &old[50_000..50_500];
    let added = old[14_750..15_250].iter().map(|prefix| match prefix {
        IpNet::V4(prefix) => v4(u32::from(prefix.addr()) + 1),
        IpNet::V6(_) => unreachable!(),
    });
    let mut new: BTreeSet<IpNet> = old.iter().copied().chain(added).collect();
    new.retain(|prefix| removed.binary_search(prefix).is_err());
    let plan = plan(&shards, &new.into_iter().collect::<Vec<_>>(), limits);
    assert_eq!((touched(&shards, &plan), plan.shards.len(), plan.removed.len()), (3, 34, 0));
}

#[test]
fn a_shard_that_is_too_full_is_cut_and_keeps_its_number() {
    let shards = plan(&[], &list(100), LIMITS).shards;
    let sizes =
        |shards: &[Shard]| shards.iter().map(|shard| (shard.index, shard.prefixes.len())).collect::<Vec<_>>();
    assert_eq!(sizes(&shards), [(0, 30), (1, 30), (2, 30), (3, 10)]);
    let more: BTreeSet<IpNet> =
        list(100).into_iter().chain((0..11).map(|number| v4(0x0a00_0001 + 7 * number))).collect();
    let plan = plan(&shards, &more.into_iter().collect::<Vec<_>>(), LIMITS);
    assert_eq!(sizes(&plan.shards), [(4, 11), (0, 30), (1, 30), (2, 30), (3, 10)]);
    assert!(plan.removed.is_empty());
}

#[test]
fn a_shard_that_became_small_joins_its_neighbour() {
    let shards = plan(&[], &list(90), LIMITS).shards;
    let fewer: Vec<IpNet> = list(90)
        .into_iter()
        .skip(28)
        .enumerate()
        .filter(|(nth, _)| *nth < 2 || *nth > 20)
        .map(|(_, prefix)| prefix)
        .collect();
    let plan = plan(&shards, &fewer, LIMITS);
    let sizes: Vec<_> = plan.shards.iter().map(|shard| (shard.index, shard.prefixes.len())).collect();
    assert_eq!((sizes, plan.removed), (vec![(0, 13), (2, 30)], vec![1]));
}

#[test]
fn an_empty_list_is_one_empty_shard() {
    let shards = plan(&[], &list(100), LIMITS).shards;
    let emptied = plan(&shards, &[], LIMITS);
    assert_eq!(emptied, Plan { shards: vec![Shard { index: 0, prefixes: vec![] }], removed: vec![1, 2, 3] });
    let again = plan(&emptied.shards, &list(3), LIMITS);
    assert_eq!(again, Plan { shards: vec![Shard { index: 0, prefixes: list(3) }], removed: vec![] });
}
