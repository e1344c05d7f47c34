//! From sorted prefixes to slots and nodes, for the part of a table that lies in one prefix.

use crate::node::{Nodes, Slots, encode, single};
use crate::prefix::{Family, Prefix};
use sluice_ebpf_common::prefixes::{SLOT_CLASS, Slot};

/// A prefix and the class of those of its addresses that no longer prefix holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub prefix: Prefix,
    pub class: u16,
}

/// A row of slots: those by the `width` bits of the address behind its first `start`, from the value `first` on.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub start: u8,
    pub width: u8,
    pub first: usize,
}

/// The slot for the addresses in `at`. The entries are in order, in `at` and longer; `inherited` is the class of
/// addresses that they do not hold.
pub(crate) fn build(
    nodes: &mut impl Nodes,
    family: Family,
    at: Prefix,
    inherited: u16,
    entries: &[Entry],
) -> Slot {
    if entries.iter().all(|entry| entry.class == inherited) {
        return SLOT_CLASS | u32::from(inherited);
    }
    if let [entry] = entries
        && let Some(slot) = single(nodes, family, at, entry.prefix, [entry.class, inherited])
    {
        return slot;
    }
    let mut slots: Slots = [SLOT_CLASS | u32::from(inherited); 256];
    fill(nodes, family, Row { start: at.length, width: 8, first: 0 }, &mut slots, entries);
    encode(nodes, family, at, &slots)
}

/// Puts what the entries say over `slots`, which are all of kind class where an entry lies.
pub(crate) fn fill(
    nodes: &mut impl Nodes,
    family: Family,
    row: Row,
    slots: &mut [Slot],
    mut entries: &[Entry],
) {
    let end = row.start + row.width;
    let place = |entry: &Entry| entry.prefix.index(row.start, row.width) - row.first;
    while let Some(entry) = entries.first() {
        let index = place(entry);
        if entry.prefix.length <= end {
            let count = 1 << (end - entry.prefix.length);
            slots[index..index + count].fill(SLOT_CLASS | u32::from(entry.class));
            entries = &entries[1..];
        } else {
            // In order, entries of a whole slot come before those inside of it.
            let count = entries.iter().take_while(|other| place(other) == index).count();
            let (inside, behind) = entries.split_at(count);
            let inherited = u16::try_from(slots[index]).unwrap_or(0);
            slots[index] = build(nodes, family, entry.prefix.shortened(end), inherited, inside);
            entries = behind;
        }
    }
}
