//! Nodes of the live table in its memory: puts new ones where nothing is, and notes which are not needed any more.
//! Nothing that a packet may see is ever written over.

use super::Memory;
use super::allocator::{Allocator, Extent};
use crate::node::{Nodes, kind, load_node, offset, size};
use sluice_ebpf_common::prefixes::{SLOT_COMPARE, SLOT_NODE, Slot, UNIT};

pub(crate) struct Arena<'a, M> {
    memory: &'a mut M,
    allocator: &'a mut Allocator,
    /// What would lie behind the end of the memory: a change that does not fit is carried through to learn what it needs.
    overflow: Vec<u64>,
    /// By the change under way.
    pub allocated: Vec<Extent>,
    /// What the version in force refers to, and the one to come does not.
    pub retired: Vec<Extent>,
}

impl<'a, M: Memory> Arena<'a, M> {
    pub fn new(memory: &'a mut M, allocator: &'a mut Allocator) -> Self {
        Self { memory, allocator, overflow: Vec::new(), allocated: Vec::new(), retired: Vec::new() }
    }

    /// The node alone.
    pub fn retire_node(&mut self, slot: Slot) {
        if let Ok(units @ 1..) = u16::try_from(size(self, slot) / UNIT) {
            let start = u32::try_from(offset(slot) / UNIT).unwrap_or(0);
            self.retired.push(Extent { start, units });
        }
    }

    /// The node and all below it.
    pub fn retire(&mut self, slot: Slot) {
        if kind(slot) == SLOT_NODE {
            for child in load_node(self, slot) {
                if matches!(kind(child), SLOT_NODE | SLOT_COMPARE) {
                    self.retire(child);
                }
            }
        }
        self.retire_node(slot);
    }
}

impl<M: Memory> Nodes for Arena<'_, M> {
    fn put(&mut self, bytes: &[u8]) -> u32 {
        let extent = self.allocator.allocate(u16::try_from(bytes.len() / UNIT).unwrap_or(u16::MAX));
        self.allocated.push(extent);
        let at = extent.start as usize * UNIT;
        match at.checked_sub(self.allocator.capacity_bytes()) {
            None => self.memory.store_bytes(at, bytes),
            Some(behind) => {
                let words = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word));
                let first = behind / 8;
                self.overflow.resize(self.overflow.len().max(first + bytes.len() / 8), 0);
                self.overflow[first..].iter_mut().zip(words).for_each(|(place, word)| *place = word);
            }
        }
        extent.start
    }

    fn load(&self, offset: usize) -> u64 {
        match offset.checked_sub(self.allocator.capacity_bytes()) {
            None => self.memory.load_u64(offset),
            Some(behind) => self.overflow.get(behind / 8).copied().unwrap_or(0),
        }
    }
}
