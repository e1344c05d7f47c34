//! A change of the live table: new slots for what it touches, by copying the nodes on the way and building anew
//! what lies behind them. It writes no root.

use super::Memory;
use super::arena::Arena;
use super::classes::Classes;
use super::store::{Key, Store};
use crate::build::{Entry, Row, build, fill};
use crate::node::{Slots, encode, kind, load_comparison, load_node, octet_parts};
use crate::prefix::Prefix;
use sluice_ebpf_common::prefixes::{SLOT_CLASS, SLOT_COMPARE, SLOT_NODE, SLOT_OCTET, Slot};
use std::ops::Range;

/// A subtree of at most so many prefixes is built anew rather than copied: it then has the smallest form.
const FEW: usize = 8;

pub(crate) struct Update<'a, K, M> {
    /// What is to be.
    pub store: &'a Store<K>,
    pub classes: &'a mut Classes,
    pub arena: Arena<'a, M>,
}

impl<K: Key, M: Memory> Update<'_, K, M> {
    /// Brings a row of slots up to the changes, which are in order and lie in the row.
    pub fn row(&mut self, start: u8, width: u8, slots: &mut [Slot], changes: &[(K, u64)]) {
        for part in parts(changes, start, width) {
            match part {
                Part::Whole(prefix, range) => {
                    for slot in &slots[range.clone()] {
                        self.arena.retire(*slot);
                    }
                    let (inherited, entries) = self.entries(prefix, self.store.inside(prefix));
                    slots[range].fill(SLOT_CLASS | u32::from(inherited));
                    fill(&mut self.arena, K::FAMILY, Row { start, width, first: 0 }, slots, &entries);
                }
                Part::Inside(index, changes) => {
                    let at = changes[0].0.unpack().shortened(start + width);
                    slots[index] = self.slot(slots[index], at, changes);
                }
            }
        }
    }

    fn slot(&mut self, old: Slot, at: Prefix, changes: &[(K, u64)]) -> Slot {
        let few: Vec<_> = self.store.inside(at).take(FEW + 1).collect();
        if few.len() <= FEW {
            self.arena.retire(old);
            let (inherited, entries) = self.entries(at, few.into_iter());
            return build(&mut self.arena, K::FAMILY, at, inherited, &entries);
        }
        let mut slots = self.expand(old, at);
        self.row(at.length, 8, &mut slots, changes);
        encode(&mut self.arena, K::FAMILY, at, &slots)
    }

    /// The slots by the next 8 bits that say the same as `old`, which is given up.
    fn expand(&mut self, old: Slot, at: Prefix) -> Slots {
        match kind(old) {
            SLOT_NODE => {
                self.arena.retire_node(old);
                load_node(&self.arena, old)
            }
            SLOT_OCTET => {
                let (octet, inside, outside) = octet_parts(old);
                let mut slots = [SLOT_CLASS | u32::from(outside); 256];
                slots[usize::from(octet)] = SLOT_CLASS | u32::from(inside);
                slots
            }
            SLOT_COMPARE => self.expand_comparison(old, at),
            _ => [old; 256],
        }
    }

    fn expand_comparison(&mut self, old: Slot, at: Prefix) -> Slots {
        let comparison = load_comparison(&self.arena, old);
        let mut slots = [SLOT_CLASS | u32::from(comparison.outside); 256];
        let index = comparison.prefix.index(at.length, 8);
        if let Some(count) = whole(comparison.prefix, at.length + 8) {
            self.arena.retire_node(old);
            slots[index..index + count].fill(SLOT_CLASS | u32::from(comparison.inside));
        } else {
            // The same node serves one step further down.
            slots[index] = old;
        }
        slots
    }

    /// The class of what no prefix inside of `at` holds, and entries for those inside of it.
    fn entries(&mut self, at: Prefix, inside: impl Iterator<Item = (Prefix, u64)>) -> (u16, Vec<Entry>) {
        let base = self.store.covering(at);
        let mut around: Vec<(Prefix, u64)> = Vec::new();
        let mut entries = Vec::new();
        for (prefix, own) in inside {
            while around.last().is_some_and(|outer| !outer.0.contains(prefix)) {
                around.pop();
            }
            let mask = own | around.last().map_or(base, |outer| outer.1);
            around.push((prefix, mask));
            entries.push(Entry { prefix, class: self.classes.class(mask) });
        }
        (self.classes.class(base), entries)
    }
}

/// How changes meet a row of slots.
enum Part<'c, K> {
    /// A changed prefix takes these slots whole. Changes within it need no further look.
    Whole(Prefix, Range<usize>),
    /// Changes of longer prefixes in one slot.
    Inside(usize, &'c [(K, u64)]),
}

/// The slots of a row that changes meet.
pub(crate) fn touched<K: Key>(changes: &[(K, u64)], start: u8, width: u8) -> impl Iterator<Item = usize> {
    parts(changes, start, width).into_iter().flat_map(|part| match part {
        Part::Whole(_, slots) => slots,
        Part::Inside(index, _) => index..index + 1,
    })
}

fn parts<K: Key>(mut changes: &[(K, u64)], start: u8, width: u8) -> Vec<Part<'_, K>> {
    let mut parts = Vec::new();
    let mut next = 0;
    let place = |change: &(K, u64)| change.0.unpack().index(start, width);
    while let Some(first) = changes.first() {
        let index = place(first);
        let prefix = first.0.unpack();
        let (count, part, end) = if let Some(slots) = whole(prefix, start + width) {
            (1, Part::Whole(prefix, index..index + slots), index + slots)
        } else {
            let count = changes.iter().take_while(|change| place(change) == index).count();
            (count, Part::Inside(index, &changes[..count]), index + 1)
        };
        if index >= next {
            parts.push(part);
            next = end;
        }
        changes = &changes[count..];
    }
    parts
}

/// How many slots of a row that ends at bit `end` a prefix takes, if it takes whole ones.
fn whole(prefix: Prefix, end: u8) -> Option<usize> {
    (prefix.length <= end).then(|| 1 << (end - prefix.length))
}
