//! The moments of a swap, as they show from outside, so that an agent can be killed at each.

use std::{path::PathBuf, thread::yield_now, time::Instant};

use super::{Node, SOON};

/// A moment of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The file has changed; the agent may not know yet.
    FileChanged,
    /// The new program is loaded and pinned; the old one may still run.
    Loaded,
    /// The new program runs; the old one may still be pinned.
    Swapped,
}

impl Moment {
    /// Each in its turn.
    pub fn of_round(round: u16) -> Self {
        [Self::FileChanged, Self::Loaded, Self::Swapped][usize::from(round % 3)]
    }
}

/// A node before a swap.
pub struct BeforeSwap<'a> {
    node: &'a Node,
    pinned: Vec<PathBuf>,
    program: u32,
}

impl<'a> BeforeSwap<'a> {
    /// The node as it is now; a program is attached.
    pub fn of(node: &'a Node) -> Self {
        Self { node, pinned: node.program_pins(), program: node.program().unwrap().id }
    }

    /// Waits until the swap is that far, without a pause: the moment is short.
    pub fn wait_for(&self, moment: Moment) {
        let started = Instant::now();
        while !self.is_at(moment) {
            assert!(started.elapsed() < SOON, "waited in vain until {moment:?}");
            yield_now();
        }
    }

    fn is_at(&self, moment: Moment) -> bool {
        match moment {
            Moment::FileChanged => true,
            Moment::Loaded => self.node.program_pins().iter().any(|pin| !self.pinned.contains(pin)),
            Moment::Swapped => self.node.program().is_some_and(|program| program.id != self.program),
        }
    }
}
