//! What belongs to one memory of the live table: which of it is taken, which version is in force, and what the
//! other one lacks. Every store into roots, classes and version is made here, in an order that packets can rely on.

use super::allocator::{Allocator, Extent};
use super::arena::Arena;
use super::classes::Classes;
use super::store::{Key, Store};
use super::update::{Update, touched};
use super::{Change, Memory, Refused};
use crate::node::{Nodes, kind, load_comparison, load_node, octet_parts};
use sluice_ebpf_common::prefixes::{
    ROOT_SLOTS, SLOT_CLASS, SLOT_COMPARE, SLOT_NODE, SLOT_OCTET, Slot, UNIT, live,
};

#[derive(Debug)]
pub(crate) struct State {
    pub allocator: Allocator,
    pub classes: Classes,
    pub version: u64,
    /// Offsets of root pairs whose half that is not in force is one change behind.
    behind: Vec<usize>,
    /// Nodes that only such halves refer to.
    retired: Vec<Extent>,
}

/// What a change has prepared.
#[derive(Default)]
pub(crate) struct Work {
    /// Offsets of root pairs, and their new slots.
    roots: Vec<(usize, Slot)>,
    allocated: Vec<Extent>,
    retired: Vec<Extent>,
}

impl State {
    pub fn new(capacity_pages: usize) -> Self {
        Self {
            allocator: Allocator::new(capacity_pages),
            classes: Classes::default(),
            version: 0,
            behind: Vec::new(),
            retired: Vec::new(),
        }
    }

    /// Brings the half that is not in force up to the other, and frees what only it referred to.
    pub fn catch_up(&mut self, memory: &mut impl Memory) {
        for at in std::mem::take(&mut self.behind) {
            let pair = memory.load_u64(at);
            memory.store_u64(at, with_half(pair, 1 - self.version, half(pair, self.version)));
        }
        for extent in std::mem::take(&mut self.retired) {
            self.allocator.release(extent);
        }
        self.allocator.tidy();
    }

    /// Makes the nodes for changes of one family, whose root begins at `root`.
    pub fn prepare<K: Key>(
        &mut self,
        memory: &mut impl Memory,
        store: &Store<K>,
        changes: &[(K, u64)],
        root: usize,
        work: &mut Work,
    ) {
        let mut slots = vec![0; ROOT_SLOTS];
        for index in touched(changes, 0, 16) {
            slots[index] = self.slot(memory, root, index);
        }
        let arena = Arena::new(memory, &mut self.allocator);
        let mut update = Update { store, classes: &mut self.classes, arena };
        update.row(0, 16, &mut slots, changes);
        work.allocated.append(&mut update.arena.allocated);
        work.retired.append(&mut update.arena.retired);
        let differing =
            touched(changes, 0, 16).filter(|index| self.slot(memory, root, *index) != slots[*index]);
        work.roots.extend(differing.map(|index| (root + index * 8, slots[index])));
    }

    /// Why what has been prepared cannot be published, if so.
    pub fn refusal(&self) -> Option<Refused> {
        if self.classes.is_exhausted() {
            return Some(Refused::TooManyClasses);
        }
        self.allocator.is_over().then(|| Refused::Full { pages: self.allocator.pages() })
    }

    pub fn take_back(&mut self, work: Work) {
        for extent in work.allocated {
            self.allocator.release(extent);
        }
        self.allocator.cut();
        self.classes.take_back_given();
    }

    /// Puts what has been prepared in force.
    pub fn publish(&mut self, memory: &mut impl Memory, work: Work) -> Change {
        for (class, mask) in self.classes.keep_given() {
            memory.store_u64(live::CLASSES + usize::from(class) * 8, mask);
        }
        let next = 1 - self.version;
        for (at, slot) in &work.roots {
            memory.store_u64(*at, with_half(memory.load_u64(*at), next, *slot));
        }
        memory.store_u64(live::STATE, next);
        self.version = next;
        self.behind = work.roots.into_iter().map(|(at, _)| at).collect();
        self.retired = work.retired;
        let node_bytes = work.allocated.iter().map(|extent| usize::from(extent.units) * UNIT).sum();
        Change { prefixes: 0, root_slots: self.behind.len(), node_bytes }
    }

    /// Frees the numbers of classes that the version in force does not name. The other one must have caught up.
    pub fn sweep_classes(&mut self, memory: &mut impl Memory) {
        let mut in_use = vec![false; live::CLASS_COUNT];
        let nodes = Arena::new(memory, &mut self.allocator);
        for at in
            [live::ROOT_V4, live::ROOT_V6].into_iter().flat_map(|root| (root..).step_by(8).take(ROOT_SLOTS))
        {
            mark_classes(&nodes, half(nodes.load(at), self.version), &mut in_use);
        }
        self.classes.sweep(&in_use);
    }

    /// The slot of a root in the version in force.
    fn slot(&self, memory: &impl Memory, root: usize, index: usize) -> Slot {
        half(memory.load_u64(root + index * 8), self.version)
    }
}

fn mark_classes(nodes: &impl Nodes, slot: Slot, in_use: &mut [bool]) {
    let mut mark = |class: usize| in_use.iter_mut().skip(class).take(1).for_each(|used| *used = true);
    match kind(slot) {
        SLOT_CLASS => mark(slot as usize),
        SLOT_OCTET => {
            let (_, inside, outside) = octet_parts(slot);
            [inside, outside].map(usize::from).into_iter().for_each(mark);
        }
        SLOT_COMPARE => {
            let comparison = load_comparison(nodes, slot);
            [comparison.inside, comparison.outside].map(usize::from).into_iter().for_each(mark);
        }
        SLOT_NODE => load_node(nodes, slot).into_iter().for_each(|slot| mark_classes(nodes, slot, in_use)),
        _ => {}
    }
}

/// The slot of a version.
fn half(pair: u64, version: u64) -> Slot {
    let [low, high] = halves(pair);
    if version == 0 { low } else { high }
}

fn with_half(pair: u64, version: u64, slot: Slot) -> u64 {
    let [low, high] = halves(pair);
    let [low, high] = if version == 0 { [slot, high] } else { [low, slot] };
    u64::from(high) << 32 | u64::from(low)
}

#[allow(clippy::cast_possible_truncation, reason = "the casts take the halves")]
fn halves(pair: u64) -> [Slot; 2] {
    [pair as u32, (pair >> 32) as u32]
}
