//! Sets with the lists that they are in, and the difference between two states of them. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ipnet::IpNet;
use sluice_policy::CidrSet;

/// A set and the lists that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// What it holds.
    pub set: Arc<CidrSet>,
    /// A bit for each list.
    pub mask: u64,
}

/// Sets by their names.
pub type Loads = BTreeMap<String, Load>;

/// The prefixes whose lists may be others in `to` than in `from`, each with its lists in `to`.
pub fn changes(from: &Loads, to: &Loads) -> Vec<(IpNet, u64)> {
    let mut prefixes = Vec::new();
    let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    for name in names {
        match (from.get(name), to.get(name)) {
            (Some(from), Some(to)) if from == to => {}
            (Some(from), Some(to)) if from.mask == to.mask => {
                difference(&from.set.prefixes, &to.set.prefixes, &mut prefixes);
            }
            (from, to) => {
                prefixes.extend(from.into_iter().chain(to).flat_map(|load| &load.set.prefixes).copied());
            }
        }
    }
    // Runs that are sorted already, which the stable sort makes use of.
    prefixes.sort();
    prefixes.dedup();
    let mut changes: Vec<(IpNet, u64)> = prefixes.into_iter().map(|prefix| (prefix, 0)).collect();
    to.values().for_each(|load| add(&mut changes, load));
    changes
}

/// What is in one of two sorted lists only.
fn difference(one: &[IpNet], other: &[IpNet], into: &mut Vec<IpNet>) {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(left), Some(right)) = (one.peek(), other.peek()) {
        match left.cmp(right) {
            std::cmp::Ordering::Equal => {
                one.next();
                other.next();
            }
            std::cmp::Ordering::Less => into.extend(one.next()),
            std::cmp::Ordering::Greater => into.extend(other.next()),
        }
    }
    into.extend(one.chain(other));
}

/// Looks up the shorter in the longer of the two.
fn add(changes: &mut [(IpNet, u64)], load: &Load) {
    let prefixes = &load.set.prefixes;
    if changes.len() < prefixes.len() {
        for (prefix, mask) in changes {
            if prefixes.binary_search(prefix).is_ok() {
                *mask |= load.mask;
            }
        }
        return;
    }
    for prefix in prefixes {
        if let Ok(index) = changes.binary_search_by(|(other, _)| other.cmp(prefix)) {
            changes[index].1 |= load.mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, mask: u64) -> Load {
        let file = sluice_policy::parse_file("a.cidrs", text.replace(' ', "\n").as_bytes());
        let Some(Ok(set)) = file.sets.into_iter().next().map(|set| set.result) else {
            unreachable!("{text}")
        };
        Load { set: Arc::new(set), mask }
    }

    fn loads(loads: &[(&str, &str, u64)]) -> Loads {
        loads.iter().map(|(name, text, mask)| ((*name).to_owned(), load(text, *mask))).collect()
    }

    fn words(from: &Loads, to: &Loads) -> Vec<String> {
        changes(from, to).iter().map(|(prefix, mask)| format!("{prefix} {mask}")).collect()
    }

    #[test]
    fn only_what_differs_changes() {
        let from = loads(&[("a", "10.0.0.0/8 192.0.2.0/24", 1), ("b", "192.0.2.0/24 ::1", 2)]);
        assert!(changes(&from, &from).is_empty());
        let added = loads(&[("a", "10.0.0.0/8 192.0.2.0/24 192.0.2.7", 1), ("b", "192.0.2.0/24 ::1", 2)]);
        assert_eq!(words(&from, &added), ["192.0.2.7/32 1"]);
        assert_eq!(words(&added, &from), ["192.0.2.7/32 0"]);
    }

    #[test]
    fn a_prefix_of_several_sets_is_in_the_lists_of_all() {
        let from = loads(&[("a", "192.0.2.0/24", 1), ("b", "192.0.2.0/24 ::1", 2)]);
        assert_eq!(words(&Loads::new(), &from), ["192.0.2.0/24 3", "::1/128 2"]);
        let without = loads(&[("b", "192.0.2.0/24 ::1", 2)]);
        assert_eq!(words(&from, &without), ["192.0.2.0/24 2"]);
        let in_more = loads(&[("a", "192.0.2.0/24", 5), ("b", "192.0.2.0/24 ::1", 2)]);
        assert_eq!(words(&from, &in_more), ["192.0.2.0/24 7"]);
        assert_eq!(words(&from, &Loads::new()), ["192.0.2.0/24 0", "::1/128 0"]);
    }
}
