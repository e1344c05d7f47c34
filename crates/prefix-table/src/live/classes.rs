//! Numbers for sets of lists: the same mask has the same class. Class 0 is no list.

use sluice_ebpf_common::prefixes::live;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(crate) struct Classes {
    by_mask: HashMap<u64, u16>,
    /// Numbers that were in use and are no more.
    free: Vec<u16>,
    /// Numbers from 1 to this have been given.
    highest: u16,
    /// Those of the change that is under way.
    given: Vec<(u16, u64)>,
    exhausted: bool,
    last: (u64, u16),
}

/// Most classes beside class 0.
pub const MAX_CLASSES: usize = live::CLASS_COUNT - 1;

impl Classes {
    /// The class of a mask; 0 when numbers have run out, as `is_exhausted` then says.
    pub fn class(&mut self, mask: u64) -> u16 {
        if self.last.0 != mask {
            self.last = (mask, self.find(mask));
        }
        self.last.1
    }

    fn find(&mut self, mask: u64) -> u16 {
        if mask == 0 {
            return 0;
        }
        if let Some(class) = self.by_mask.get(&mask) {
            return *class;
        }
        let Some(class) = self.free.pop().or_else(|| self.highest.checked_add(1)) else {
            self.exhausted = true;
            return 0;
        };
        self.highest = self.highest.max(class);
        self.by_mask.insert(mask, class);
        self.given.push((class, mask));
        class
    }

    pub fn len(&self) -> usize {
        self.by_mask.len()
    }

    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Ends the change that is under way: its new classes, with their masks.
    pub fn keep_given(&mut self) -> Vec<(u16, u64)> {
        std::mem::take(&mut self.given)
    }

    pub fn take_back_given(&mut self) {
        for (class, mask) in std::mem::take(&mut self.given) {
            self.by_mask.remove(&mask);
            self.free.push(class);
        }
        self.exhausted = false;
        self.last = (0, 0);
    }

    /// Frees the numbers that `in_use`, by class, does not say.
    pub fn sweep(&mut self, in_use: &[bool]) {
        let free = &mut self.free;
        self.by_mask.retain(|_, class| {
            let used = in_use.get(usize::from(*class)).copied().unwrap_or(false);
            if !used {
                free.push(*class);
            }
            used
        });
        self.last = (0, 0);
    }
}
