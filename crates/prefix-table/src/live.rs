//! The table of address sets, which changes while packets are judged by it. What it holds is kept here, by prefix; the
//! memory that packets read is only written, through [`Memory`]. It waits for nothing: see [`Table::change`].

mod allocator;
mod arena;
mod classes;
mod state;
mod store;
mod update;

pub use classes::MAX_CLASSES;

use crate::prefix::{Family, Prefix};
use ipnet::IpNet;
use sluice_ebpf_common::prefixes::{PAGE, ROOT_SLOTS, live};
use state::{State, Work};
use store::{Key, Store, V4, V6};

/// The memory of a table. Offsets are in bytes, and multiples of 8.
pub trait Memory {
    /// What [`Memory::store_u64`] stored there last; at first 0.
    fn load_u64(&self, offset: usize) -> u64;

    /// Stores at once, so that a reader sees the old or the new value, and after every store before it.
    fn store_u64(&mut self, offset: usize, value: u64);

    /// Stores where nobody reads. The length is a multiple of 8.
    fn store_bytes(&mut self, offset: usize, bytes: &[u8]) {
        for (index, word) in bytes.as_chunks().0.iter().enumerate() {
            self.store_u64(offset + index * 8, u64::from_ne_bytes(*word));
        }
    }
}

/// What a change did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Prefixes whose lists are others than before. If there are none, the version is the same too.
    pub prefixes: usize,
    /// Root slots that were written, in the half that is now in force.
    pub root_slots: usize,
    /// Bytes of new nodes.
    pub node_bytes: usize,
}

/// Why a change was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Move the table to a larger memory with [`Table::move_to`].
    #[error("the address table is full: with this change it would need {pages} pages of 64 KiB")]
    Full {
        /// Pages that would have been needed.
        pages: usize,
    },
    /// Class numbers do not suffice.
    #[error(
        "address sets overlap in more than {MAX_CLASSES} different ways, which is more than the table can tell apart: \
         name fewer sets in rules"
    )]
    TooManyClasses,
}

/// Pages that so many prefixes usually need, with room for changes. Lists in which few prefixes are near each other
/// cost most; a table that does not suffice says so.
#[must_use]
pub fn required_pages(ipv4_prefixes: usize, ipv6_prefixes: usize) -> usize {
    let sparse = ipv4_prefixes.min(ROOT_SLOTS) * 64;
    let bytes = sparse + ipv4_prefixes * 12 + ipv6_prefixes * 64;
    live::LEAST_PAGES + (bytes + bytes / 4).div_ceil(PAGE) + 4
}

/// The table. It must be the only writer of its memory.
#[derive(Debug)]
pub struct Table {
    v4: Store<V4>,
    v6: Store<V6>,
    state: State,
}

/// Changes by family, in order. While they are carried out: what was before.
struct Lists {
    v4: Vec<(V4, u64)>,
    v6: Vec<(V6, u64)>,
}

impl Table {
    /// An empty table for a memory of so many pages, all 0. At least `live::LEAST_PAGES`.
    #[must_use]
    pub fn new(capacity_pages: usize) -> Self {
        Self { v4: Store::new(), v6: Store::new(), state: State::new(capacity_pages) }
    }

    /// Gives prefixes other lists: a mask of 0 removes a prefix; of a prefix that is given twice the last mask holds.
    ///
    /// A packet that reads the version once, and then only that half of root pairs, sees all of the change or
    /// nothing. **Between two changes all packets must have ended that began before the end of the first**: a change writes over
    /// what the one before it left. A refused change leaves all as it was.
    pub fn change(
        &mut self,
        memory: &mut impl Memory,
        changes: impl IntoIterator<Item = (IpNet, u64)>,
    ) -> Result<Change, Refused> {
        let mut lists = self.sorted(changes);
        let prefixes = lists.v4.len() + lists.v6.len();
        if prefixes == 0 {
            return Ok(Change::default());
        }
        self.state.catch_up(memory);
        let mut result = self.attempt(memory, &mut lists);
        if result == Err(Refused::TooManyClasses) {
            self.state.sweep_classes(memory);
            result = self.attempt(memory, &mut lists);
        }
        result.map(|change| Change { prefixes, ..change })
    }

    /// Writes everything into another memory, all 0, which is the table's from then on. If it is refused, the table
    /// stays with the memory that it has.
    pub fn move_to(&mut self, memory: &mut impl Memory, capacity_pages: usize) -> Result<Change, Refused> {
        let before = std::mem::replace(&mut self.state, State::new(capacity_pages));
        let result = self.write(memory, &whole_family(), &whole_family());
        match result {
            Ok(change) => Ok(Change { prefixes: self.entries(), ..change }),
            Err(refused) => {
                self.state = before;
                Err(refused)
            }
        }
    }

    /// The lists of a prefix itself; 0 if it is not in the table.
    #[must_use]
    pub fn mask(&self, prefix: &IpNet) -> u64 {
        match Family::of(prefix) {
            Family::V4 => self.v4.get(V4::pack(Prefix::new(prefix))),
            Family::V6 => self.v6.get(V6::pack(Prefix::new(prefix))),
        }
    }

    /// All prefixes with their lists, IPv4 first, in order.
    pub fn prefixes(&self) -> impl Iterator<Item = (IpNet, u64)> {
        let v4 = self.v4.iter().map(|(prefix, mask)| (prefix.network(Family::V4), mask));
        v4.chain(self.v6.iter().map(|(prefix, mask)| (prefix.network(Family::V6), mask)))
    }

    /// Number of prefixes.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Bytes of the memory that are in use: roots, classes, and the nodes of both versions.
    #[must_use]
    pub fn bytes_used(&self) -> usize {
        live::NODES + self.state.allocator.used_bytes()
    }

    /// Classes that have a number, beside class 0.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.state.classes.len()
    }

    /// The version in force.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.state.version
    }

    fn sorted(&self, changes: impl IntoIterator<Item = (IpNet, u64)>) -> Lists {
        let mut lists = Lists { v4: Vec::new(), v6: Vec::new() };
        for (prefix, mask) in changes {
            let key = Prefix::new(&prefix);
            match Family::of(&prefix) {
                Family::V4 => lists.v4.push((V4::pack(key), mask)),
                Family::V6 => lists.v6.push((V6::pack(key), mask)),
            }
        }
        sort(&mut lists.v4, &self.v4);
        sort(&mut lists.v6, &self.v6);
        lists
    }

    fn attempt(&mut self, memory: &mut impl Memory, lists: &mut Lists) -> Result<Change, Refused> {
        self.v4.exchange(&mut lists.v4);
        self.v6.exchange(&mut lists.v6);
        let result = self.write(memory, &lists.v4, &lists.v6);
        if result.is_err() {
            self.v4.exchange(&mut lists.v4);
            self.v6.exchange(&mut lists.v6);
        }
        result
    }

    /// Brings the memory up to the stores, which differ from it in these prefixes.
    fn write(
        &mut self,
        memory: &mut impl Memory,
        v4: &[(V4, u64)],
        v6: &[(V6, u64)],
    ) -> Result<Change, Refused> {
        let mut work = Work::default();
        self.state.prepare(memory, &self.v4, v4, live::ROOT_V4, &mut work);
        self.state.prepare(memory, &self.v6, v6, live::ROOT_V6, &mut work);
        if let Some(refused) = self.state.refusal() {
            self.state.take_back(work);
            return Err(refused);
        }
        Ok(self.state.publish(memory, work))
    }
}

/// Sorts, drops all but the last change of a prefix, and those that change nothing.
fn sort<K: Key>(changes: &mut Vec<(K, u64)>, store: &Store<K>) {
    changes.sort_by_key(|change| change.0);
    changes.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 = later.1;
        }
        same
    });
    changes.retain(|(key, mask)| store.get(*key) != *mask);
}

/// As if the prefix that holds all had changed.
fn whole_family<K: Key>() -> [(K, u64); 1] {
    [(K::pack(Prefix { key: 0, length: 0 }), 0)]
}
