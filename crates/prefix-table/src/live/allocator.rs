//! Which units of the memory are taken. It never touches the memory, and hands out nothing that crosses a page.

use sluice_ebpf_common::prefixes::{PAGE, UNIT, live};
use std::collections::BTreeSet;

#[allow(clippy::cast_possible_truncation, reason = "small constants")]
const UNITS_PER_PAGE: u32 = (PAGE / UNIT) as u32;
#[allow(clippy::cast_possible_truncation, reason = "small constants")]
const FIRST_UNIT: u32 = (live::NODES / UNIT) as u32;

/// Units in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub start: u32,
    pub units: u16,
}

#[derive(Debug)]
pub(crate) struct Allocator {
    /// Where the memory ends.
    capacity: u32,
    /// From here on nothing has been handed out.
    end: u32,
    /// Free extents below `end`: the smallest that suffices is taken.
    free: BTreeSet<(u16, u32)>,
    used: u64,
    /// Free extents that were left when they were last joined.
    left_over: usize,
    /// Whether extents have been joined since the last change began.
    joined: bool,
}

impl Allocator {
    pub fn new(capacity_pages: usize) -> Self {
        let capacity = u32::try_from(capacity_pages).unwrap_or(u32::MAX).saturating_mul(UNITS_PER_PAGE);
        Self { capacity, end: FIRST_UNIT, free: BTreeSet::new(), used: 0, left_over: 0, joined: false }
    }

    /// Units behind the capacity are handed out too, so that one can say how many would be needed.
    pub fn allocate(&mut self, units: u16) -> Extent {
        self.used += u64::from(units);
        if let Some(extent) = self.allocate_free(units) {
            return extent;
        }
        if !self.joined && self.place_at_end(units) + u32::from(units) > self.capacity {
            self.join();
            if let Some(extent) = self.allocate_free(units) {
                return extent;
            }
        }
        let start = self.place_at_end(units);
        self.add_free(self.end, start - self.end);
        self.end = start + u32::from(units);
        Extent { start, units }
    }

    pub fn release(&mut self, extent: Extent) {
        self.used -= u64::from(extent.units);
        self.free.insert((extent.units, extent.start));
    }

    /// To be called when a change begins: joins free extents when many have come.
    pub fn tidy(&mut self) {
        self.joined = false;
        if self.free.len() > 2 * self.left_over + 4096 {
            self.join();
        }
    }

    /// Whether something behind the capacity has been handed out.
    pub fn is_over(&self) -> bool {
        self.end > self.capacity
    }

    /// Forgets units behind the capacity, of which all must have been released.
    pub fn cut(&mut self) {
        let capacity = self.capacity;
        self.free.retain(|(_, start)| *start < capacity);
        self.end = self.end.min(capacity);
    }

    pub fn pages(&self) -> usize {
        self.end.div_ceil(UNITS_PER_PAGE) as usize
    }

    pub fn capacity_bytes(&self) -> usize {
        self.capacity as usize * UNIT
    }

    pub fn used_bytes(&self) -> usize {
        usize::try_from(self.used).unwrap_or(usize::MAX).saturating_mul(UNIT)
    }

    fn allocate_free(&mut self, units: u16) -> Option<Extent> {
        let (size, start) = *self.free.range((units, 0)..).next()?;
        self.free.remove(&(size, start));
        self.add_free(start + u32::from(units), u32::from(size - units));
        Some(Extent { start, units })
    }

    fn place_at_end(&self, units: u16) -> u32 {
        let fits = self.end % UNITS_PER_PAGE + u32::from(units) <= UNITS_PER_PAGE;
        if fits { self.end } else { self.end.next_multiple_of(UNITS_PER_PAGE) }
    }

    fn add_free(&mut self, start: u32, units: u32) {
        if let Ok(units @ 1..) = u16::try_from(units) {
            self.free.insert((units, start));
        }
    }

    /// Joins free neighbours in a page, and gives those at the end back.
    fn join(&mut self) {
        let mut extents: Vec<(u32, u32)> =
            self.free.iter().map(|(units, start)| (*start, u32::from(*units))).collect();
        extents.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(extents.len());
        for (start, units) in extents {
            match joined.last_mut() {
                Some(last) if last.0 + last.1 == start && start % UNITS_PER_PAGE != 0 => last.1 += units,
                _ => joined.push((start, units)),
            }
        }
        while let Some((start, _)) = joined.pop_if(|last| last.0 + last.1 == self.end) {
            self.end = start;
        }
        self.left_over = joined.len();
        self.free = joined
            .into_iter()
            .filter_map(|(start, units)| Some((u16::try_from(units).ok()?, start)))
            .collect();
        self.joined = true;
    }
}
