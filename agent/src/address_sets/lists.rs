//! Which bit each list of address sets has. A list keeps its bit while it is in use.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sluice_ebpf_common::prefixes::MAX_LISTS;

use super::List;

/// The lists in use.
#[derive(Debug)]
pub struct Lists {
    bits: BTreeMap<List, u8>,
    /// Longest free first: what may still be in a program that has just been replaced is used last.
    free: VecDeque<u8>,
}

impl Default for Lists {
    fn default() -> Self {
        Self { bits: BTreeMap::new(), free: (0..).take(MAX_LISTS).collect() }
    }
}

impl Lists {
    /// Gives up the bits of all other lists.
    pub fn retain(&mut self, lists: &BTreeSet<List>) {
        let free = &mut self.free;
        self.bits.retain(|list, bit| {
            let stays = lists.contains(list);
            if !stays {
                free.push_back(*bit);
            }
            stays
        });
    }

    /// Gives a list a bit, if one is free.
    pub fn add(&mut self, list: &List) {
        if !self.bits.contains_key(list)
            && let Some(bit) = self.free.pop_front()
        {
            self.bits.insert(list.clone(), bit);
        }
    }

    pub fn bit(&self, list: &List) -> Option<u8> {
        self.bits.get(list).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&List, u8)> {
        self.bits.iter().map(|(list, bit)| (list, *bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(number: usize) -> List {
        vec![format!("set-{number}")]
    }

    #[test]
    fn a_list_keeps_its_bit_and_a_free_one_is_used_last() {
        let mut lists = Lists::default();
        (0..3).for_each(|number| lists.add(&list(number)));
        lists.retain(&BTreeSet::from([list(0), list(2)]));
        lists.add(&list(3));
        let bits: Vec<_> = (0..4).map(|number| lists.bit(&list(number))).collect();
        assert_eq!(bits, [Some(0), None, Some(2), Some(3)]);
    }

    #[test]
    fn there_are_64() {
        let mut lists = Lists::default();
        (0..65).for_each(|number| lists.add(&list(number)));
        assert_eq!((lists.bit(&list(63)), lists.bit(&list(64))), (Some(63), None));
        lists.retain(&(1..64).map(list).collect());
        lists.add(&list(64));
        assert_eq!(lists.bit(&list(64)), Some(0));
    }
}
