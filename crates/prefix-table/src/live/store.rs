//! What the live table holds, by family: each prefix with its lists. It knows nothing of slots and nodes.

use crate::prefix::{Family, Prefix};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A prefix packed as tightly as its family allows: there are millions. In the order of prefixes.
pub(crate) trait Key: Copy + Ord {
    const FAMILY: Family;
    fn pack(prefix: Prefix) -> Self;
    fn unpack(self) -> Prefix;
}

/// Address and length in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct V4(u64);

/// The halves of the address, and the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct V6(u64, u64, u8);

#[allow(clippy::cast_possible_truncation, reason = "the casts take parts of a number that is packed")]
impl Key for V4 {
    const FAMILY: Family = Family::V4;

    fn pack(prefix: Prefix) -> Self {
        Self((prefix.key >> 96 << 8) as u64 | u64::from(prefix.length))
    }

    fn unpack(self) -> Prefix {
        Prefix { key: u128::from(self.0 >> 8) << 96, length: self.0 as u8 }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the casts take the halves of a number")]
impl Key for V6 {
    const FAMILY: Family = Family::V6;

    fn pack(prefix: Prefix) -> Self {
        Self((prefix.key >> 64) as u64, prefix.key as u64, prefix.length)
    }

    fn unpack(self) -> Prefix {
        Prefix { key: u128::from(self.0) << 64 | u128::from(self.1), length: self.2 }
    }
}

/// The prefixes of a family, with the lists that each is in.
#[derive(Debug)]
pub(crate) struct Store<K> {
    masks: BTreeMap<K, u64>,
    /// By length: how many prefixes have it.
    lengths: [u32; 129],
}

impl<K: Key> Store<K> {
    pub fn new() -> Self {
        Self { masks: BTreeMap::new(), lengths: [0; 129] }
    }

    pub fn len(&self) -> usize {
        self.masks.len()
    }

    pub fn get(&self, key: K) -> u64 {
        self.masks.get(&key).copied().unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Prefix, u64)> {
        self.masks.iter().map(|(key, mask)| (key.unpack(), *mask))
    }

    /// Exchanges the masks of these prefixes, which are in order and differ, with those in the store: done twice,
    /// nothing has happened.
    pub fn exchange(&mut self, changes: &mut [(K, u64)]) {
        if self.masks.is_empty() {
            // Building from sorted entries is faster than inserting them, and leaves no gaps.
            self.masks = changes.iter().filter(|change| change.1 != 0).copied().collect();
            for (key, mask) in changes.iter_mut().filter(|change| change.1 != 0) {
                self.lengths[usize::from(key.unpack().length)] += 1;
                *mask = 0;
            }
            return;
        }
        for (key, mask) in changes {
            let before = if *mask == 0 { self.masks.remove(key) } else { self.masks.insert(*key, *mask) };
            let count = &mut self.lengths[usize::from(key.unpack().length)];
            *count += u32::from(*mask != 0);
            *count -= u32::from(before.is_some());
            *mask = before.unwrap_or(0);
        }
    }

    /// The lists of all prefixes that hold the whole of `prefix`, itself included.
    pub fn covering(&self, prefix: Prefix) -> u64 {
        let mut mask = 0;
        let mut longest = self.length_at_most(prefix.length);
        while let Some(length) = longest {
            // All that hold it and are at most this long are at or before it; and what is between them and the last
            // before it is in them too.
            let probe = prefix.shortened(length);
            let Some((key, own)) = self.masks.range(..=K::pack(probe)).next_back() else { break };
            let last = key.unpack();
            if last.contains(prefix) {
                mask |= own;
                longest = last.length.checked_sub(1).and_then(|length| self.length_at_most(length));
            } else {
                let common = (last.key ^ prefix.key).leading_zeros();
                longest = self.length_at_most(u8::try_from(common).unwrap_or(128).min(length));
            }
        }
        mask
    }

    fn length_at_most(&self, length: u8) -> Option<u8> {
        (0..=length).rev().find(|length| self.lengths[usize::from(*length)] > 0)
    }

    /// The prefixes in `at` that are longer, in order.
    pub fn inside(&self, at: Prefix) -> impl Iterator<Item = (Prefix, u64)> {
        // Looking for the end by another way down the tree would cost more than looking at each prefix.
        let range = self.masks.range((Bound::Excluded(K::pack(at)), Bound::Unbounded));
        range.map(|(key, mask)| (key.unpack(), *mask)).take_while(move |(prefix, _)| at.contains(*prefix))
    }
}
