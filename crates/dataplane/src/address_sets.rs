//! The address sets of the node, where packets find them: one live address table that all instances share.
//!
//! It knows prefixes and lists (a bit each), and no names of sets: which list is which is the caller's business.

mod grace;
mod mapping;
mod pins;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ipnet::IpNet;
use sluice_prefix_table::live::{Refused, Table, required_pages};

use crate::{
    Error,
    bpffs::{PinFolder, remove_file},
    sys,
};
use grace::Grace;
use mapping::Mapping;

/// Prefixes that the sets of a node may hold together, each counted once.
pub const MAX_PREFIXES: usize = 2_000_000;

/// Room for so many prefixes of each family is there beside all others: a table should not move for a few.
const LEAST_PREFIXES: [usize; 2] = [4096, 1024];

/// The table. There is one on a node; whoever holds the pin folder owns it.
#[derive(Debug)]
pub struct AddressSets {
    folder: PathBuf,
    /// Of the memory that is in use, or was last.
    generation: u64,
    table: Table,
    grace: Grace,
    /// Made when it is first needed, for it is large.
    pinned: Option<Pinned>,
}

#[derive(Debug)]
struct Pinned {
    memory: Mapping,
    path: PathBuf,
}

/// What the table holds and takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Prefixes, each once.
    pub prefixes: usize,
    /// Bytes in use.
    pub bytes_used: usize,
    /// Bytes that the kernel has set aside and charges.
    pub bytes_allocated: usize,
    /// Combinations of lists that some prefix has.
    pub classes: usize,
    /// Changes whenever the table moves to other memory: instances that were loaded before stay with the memory of
    /// their time, and have to be loaded again.
    pub generation: u64,
}

impl AddressSets {
    /// An empty table, whatever the one before it held. Programs that are attached go on with that one until they are
    /// replaced.
    pub fn open(pins: &PinFolder) -> Result<Self, Error> {
        let folder = pins.path().to_path_buf();
        let generation = pins::last_generation(&folder)?;
        Ok(Self { folder, generation, table: Table::new(0), grace: Grace::new()?, pinned: None })
    }

    /// Gives prefixes other lists: 0 removes a prefix; of a prefix that is given twice the last holds. A packet sees all of it or
    /// nothing. What is refused changes nothing.
    ///
    /// A table that grows moves: see [`Figures::generation`].
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`] above [`MAX_PREFIXES`].
    pub fn change(&mut self, changes: &[(IpNet, u64)]) -> Result<(), Error> {
        self.check_capacity(changes)?;
        if self.pinned.is_none() {
            self.move_to(self.pages_with(changes))?;
        }
        loop {
            self.grace.end()?;
            let Some(pinned) = &mut self.pinned else { return Ok(()) };
            match self.table.change(&mut pinned.memory, changes.iter().copied()) {
                Ok(change) => {
                    if change.prefixes > 0 {
                        self.grace.begin();
                    }
                    return Ok(());
                }
                Err(Refused::Full { pages }) => {
                    self.move_to((pages + pages / 4).max(self.pages_with(changes)))?;
                }
                Err(refused) => return Err(refused.into()),
            }
        }
    }

    /// Where the memory is pinned, for instances that read it.
    pub fn path(&mut self) -> Result<&Path, Error> {
        if self.pinned.is_none() {
            self.move_to(self.pages_with(&[]))?;
        }
        Ok(self.pinned.as_ref().map_or(&self.folder, |pinned| &pinned.path))
    }

    /// The lists of a prefix itself; 0 if it is in none.
    #[must_use]
    pub fn mask(&self, prefix: &IpNet) -> u64 {
        self.table.mask(prefix)
    }

    /// What the table holds and takes now.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let Some(pinned) = &self.pinned else {
            return Figures { generation: self.generation, ..Figures::default() };
        };
        Figures {
            prefixes: self.table.entries(),
            bytes_used: self.table.bytes_used(),
            bytes_allocated: pinned.memory.bytes(),
            classes: self.table.classes(),
            generation: self.generation,
        }
    }

    fn check_capacity(&self, changes: &[(IpNet, u64)]) -> Result<(), Error> {
        let added = changes.iter().filter(|(_, mask)| *mask != 0).count();
        if self.table.entries() + added <= MAX_PREFIXES {
            return Ok(());
        }
        let last: BTreeMap<IpNet, u64> =
            changes.iter().map(|(prefix, mask)| (prefix.trunc(), *mask)).collect();
        let is_in = |prefix: &IpNet| self.table.mask(prefix) != 0;
        let added = last.iter().filter(|(prefix, mask)| **mask != 0 && !is_in(prefix)).count();
        let removed = last.iter().filter(|(prefix, mask)| **mask == 0 && is_in(prefix)).count();
        let needed = self.table.entries() + added - removed;
        if needed <= MAX_PREFIXES {
            Ok(())
        } else {
            Err(Error::CapacityExceeded { needed, limit: MAX_PREFIXES })
        }
    }

    /// Pages that the table and these changes usually need together.
    fn pages_with(&self, changes: &[(IpNet, u64)]) -> usize {
        let added = changes.iter().filter(|(_, mask)| *mask != 0).map(|(prefix, _)| *prefix);
        let prefixes = self.table.prefixes().map(|(prefix, _)| prefix).chain(added);
        let [mut v4, mut v6] = LEAST_PREFIXES;
        for prefix in prefixes {
            *if prefix.addr().is_ipv4() { &mut v4 } else { &mut v6 } += 1;
        }
        required_pages(v4, v6)
    }

    /// Moves what the table holds to new memory. The old is gone with the last program that reads it.
    fn move_to(&mut self, pages: usize) -> Result<(), Error> {
        let mut memory = Mapping::create(pages)?;
        let path = pins::path(&self.folder, self.generation + 1);
        sys::object_pin(memory.map(), &path).map_err(|source| Error::io("pin", &path, source))?;
        self.generation += 1;
        if let Err(refused) = self.table.move_to(&mut memory, pages) {
            remove_file(&path)?;
            return Err(refused.into());
        }
        self.pinned = Some(Pinned { memory, path });
        pins::remove_others(&self.folder, self.generation)
    }
}

impl Drop for AddressSets {
    /// Nobody can use the table without us. A pin that cannot be removed is removed by the next one.
    fn drop(&mut self) {
        if let Some(pinned) = &self.pinned {
            drop(remove_file(&pinned.path));
        }
    }
}
