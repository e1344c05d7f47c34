//! What lists of address sets add to a field: lists are few, but an address may be in several.

use sluice_ebpf_common::{
    Tables,
    prefixes::MAX_LISTS,
    tables::{Entry, SIDES, Side, WORDS},
};

use crate::{
    classify::{added, lowest},
    walk::Environment,
};

/// What the lists of address sets that hold an address add to the wild vector, put together.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Merged {
    summary: u32,
    /// 1: there is an address.
    known: u32,
    /// Valid where `summary` has the bit.
    words: [u64; WORDS],
}

impl Merged {
    /// No list.
    pub const NOTHING: Self = Self { summary: 0, known: 0, words: [0; WORDS] };

    /// Before the lists of a packet.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.summary = 0;
        self.known = 0;
    }

    /// The words in which rules may accept the address.
    #[inline(always)]
    pub(crate) fn summary(&self, side: Side) -> u32 {
        // What a list takes away from a word is seen in the word only.
        if is_not(side) { self.known.wrapping_neg() } else { self.summary }
    }

    /// The rules of a word that accept the address. Rules that do not ask for any list are wild anyway.
    #[inline(always)]
    pub(crate) fn accepts(&self, side: Side, word: usize) -> u64 {
        let bits = self.word(word);
        if is_not(side) { !bits & u64::from(self.known).wrapping_neg() } else { bits }
    }

    #[inline(always)]
    fn word(&self, word: usize) -> u64 {
        // Without a branch, as in `added`.
        self.words[word & (WORDS - 1)] & u64::from(self.summary >> word & 1).wrapping_neg()
    }

    /// Adds a list.
    #[inline(always)]
    pub fn add(&mut self, tables: &Tables, list: Entry) {
        let mut rest = list.summary;
        // The bound is for the verifier, and hidden from the compiler, which would lay the turns out one by one.
        for _ in 0..core::hint::black_box(WORDS) {
            if rest == 0 {
                return;
            }
            let word = lowest(u64::from(rest)) & (WORDS - 1);
            self.words[word] = self.word(word) | added(tables, list, word);
            self.summary |= 1 << word;
            rest &= rest - 1;
        }
    }
}

#[inline(always)]
const fn is_not(side: Side) -> bool {
    matches!(side, Side::NotSource | Side::NotDestination)
}

/// Mostly an address is in no list, or in one.
#[inline(always)]
pub(crate) fn merge<E: Environment>(tables: &Tables, environment: &E, side: Side, lists: u64) {
    environment.merged(side as usize).known = 1;
    if lists == 0 {
        return;
    }
    if lists.is_power_of_two() {
        return merge_one(tables, environment, side as usize, lists);
    }
    environment.merge_each(side as usize, lists);
}

/// Adds the lowest of `lists`, of which there is one at least.
#[inline(always)]
pub fn merge_one<E: Environment>(tables: &Tables, environment: &E, side: usize, lists: u64) {
    let list = tables.lists[side & (SIDES - 1)][lowest(lists) & (MAX_LISTS - 1)];
    environment.merged(side).add(tables, list);
}
