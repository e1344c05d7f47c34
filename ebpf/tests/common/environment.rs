//! An [`Environment`] in plain memory. Whether a packet is within a rate is said beforehand, by the rule's slot.

use std::{
    cell::{RefCell, UnsafeCell},
    collections::HashMap,
};

use sluice_ebpf::{
    classify::{Merged, NO_RULE, merge_one},
    flow::Flow,
    walk::{End, Environment, Rate, Walk, decide},
};
use sluice_ebpf_common::{
    COUNTER_ELEMENTS, Counter, CounterElement, Counters, ELEMENT_SLOTS, Outcome, Tables,
    tables::{Limit, MAX_BITS, SIDES},
};

use super::memory::Memory;

pub struct Host<'a> {
    pub tables: &'a Tables,
    pub fixed: Memory,
    pub live: Memory,
    /// What [`Environment::rate`] answers, by slot; of others it is that the packet is within.
    pub rates: HashMap<u16, Rate>,
    /// Slots of the rules that took a packet out of their bucket, in order.
    pub taken: RefCell<Vec<u16>>,
    elements: RefCell<Vec<CounterElement>>,
    walk: UnsafeCell<Walk>,
    merged: UnsafeCell<[Merged; SIDES]>,
}

impl<'a> Host<'a> {
    pub fn new(tables: &'a Tables) -> Self {
        Self {
            tables,
            fixed: Memory::default(),
            live: Memory::default(),
            rates: HashMap::new(),
            taken: RefCell::default(),
            elements: RefCell::new(vec![CounterElement::ZERO; COUNTER_ELEMENTS]),
            walk: UnsafeCell::new(Walk::NOTHING),
            merged: UnsafeCell::new([Merged::NOTHING; SIDES]),
        }
    }

    /// Does with a frame of `bytes` bytes what the program does, and says how it ended.
    pub fn judge(&self, flow: &Flow, bytes: usize) -> (Outcome, End) {
        match decide(self.tables, flow, bytes, self) {
            Some(code) => decided(u32::from(code)),
            None => self.go_on(),
        }
    }

    /// A walk has begun.
    pub fn go_on(&self) -> (Outcome, End) {
        let walk = self.walk();
        let steps = (0..MAX_BITS).find(|_| walk.step(self.tables, self));
        assert!(
            steps.is_some() || walk.matched.take(self.tables) >= NO_RULE,
            "the loop of the kernel is too short"
        );
        let code = walk.finish(self);
        (Outcome::ALL[usize::from(code)], walk.end)
    }

    /// What was counted, over all elements.
    pub fn counters(&self) -> Box<Counters> {
        let mut sum = Box::new(Counters::ZERO);
        for (element, rules) in self.elements.borrow().iter().zip(sum.rules.chunks_mut(ELEMENT_SLOTS)) {
            rules.copy_from_slice(&element.rules);
        }
        for element in self.elements.borrow().iter() {
            add(&mut sum.outcomes, &element.outcomes);
            add(&mut sum.events, &element.events);
            add(&mut sum.malformed, &element.malformed);
        }
        sum
    }
}

/// The first rule that matched has decided, or none did.
pub fn decided(code: u32) -> (Outcome, End) {
    (Outcome::ALL[code as usize], End::START)
}

fn add(sum: &mut [Counter], element: &[Counter]) {
    for (sum, counter) in sum.iter_mut().zip(element) {
        sum.packets += counter.packets;
        sum.bytes += counter.bytes;
    }
}

impl Environment for Host<'_> {
    type Fixed = Memory;
    type Live = Memory;

    fn fixed(&self) -> &Memory {
        &self.fixed
    }

    fn live(&self) -> &Memory {
        &self.live
    }

    fn count(&self, element: usize, change: impl FnOnce(&mut CounterElement)) -> bool {
        change(&mut self.elements.borrow_mut()[element]);
        true
    }

    fn rate(&self, _: &Limit, slot: u16, _: &Walk) -> Rate {
        self.taken.borrow_mut().push(slot);
        self.rates.get(&slot).copied().unwrap_or(Rate::Within)
    }

    fn all_merged(&self) -> &[Merged; SIDES] {
        // SAFETY: one thread, and nobody changes it while it is read.
        unsafe { &*self.merged.get() }
    }

    fn merged(&self, side: usize) -> &mut Merged {
        // SAFETY: one thread, and each change ends before the next begins.
        unsafe { &mut (*self.merged.get())[side] }
    }

    fn merge_each(&self, side: usize, lists: u64) {
        let mut rest = lists;
        while rest != 0 {
            merge_one(self.tables, self, side, rest);
            rest &= rest - 1;
        }
    }

    fn walk(&self) -> &mut Walk {
        // SAFETY: one thread, and whoever asks for it is done before the next asks.
        unsafe { &mut *self.walk.get() }
    }
}
