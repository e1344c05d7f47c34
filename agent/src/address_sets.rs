//! The address sets that rules ask for, brought into the node's table: which lists there are, and what each prefix is in.
//!
//! It never touches programs: whoever loads one asks which bit a list has.

mod lists;
mod loads;
mod notable;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use sluice_dataplane::{
    Error,
    address_sets::{AddressSets as Table, Figures},
    bpffs::PinFolder,
};
use sluice_policy::{CidrSet, InterfacePlan, NodeFacts, SetFacts};
use tracing::warn;

use crate::policy_directory::KnownSet;
use lists::Lists;
use loads::{Load, Loads, changes};
use notable::Notable;

/// The names of the sets of one reference, sorted.
pub type List = Vec<String>;

/// The table and what is in it.
pub struct AddressSets {
    table: Table,
    lists: Lists,
    /// What the table holds.
    loaded: Loads,
    /// What it could not be brought to, and why, by set.
    refused: Loads,
    problems: BTreeMap<String, String>,
    notable: Notable,
}

/// What a program needs to know to read the lists of its rules.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// The bit of each list.
    pub lists: BTreeMap<List, u8>,
    /// Where the table is pinned; `None` if no rule reads it.
    pub live: Option<PathBuf>,
}

impl AddressSets {
    /// Opens the table, empty.
    pub fn open(pins: &PinFolder) -> Result<Self, Error> {
        Ok(Self {
            table: Table::open(pins)?,
            lists: Lists::default(),
            loaded: Loads::new(),
            refused: Loads::new(),
            problems: BTreeMap::new(),
            notable: Notable::default(),
        })
    }

    /// The sets as the compiler sees them.
    pub fn facts(&mut self, sets: &[KnownSet], node: &NodeFacts) -> Vec<SetFacts> {
        self.notable.of(sets, node)
    }

    /// Brings the table to what the sets hold now, with a bit for each of the lists: those that are wanted, and those
    /// that are still read. Programs that read new lists may be loaded afterwards.
    pub fn bring_to(&mut self, sets: &[KnownSet], lists: &BTreeSet<List>) {
        self.lists.retain(lists);
        lists.iter().for_each(|list| self.lists.add(list));
        let known: BTreeMap<&str, &Arc<CidrSet>> =
            sets.iter().map(|known| (known.set.name.as_str(), &known.set)).collect();
        let mut wanted = Loads::new();
        for (list, bit) in self.lists.iter() {
            for name in list {
                // A list that is still read may name a set that is known no more.
                let before = || self.loaded.get(name).map(|load| &load.set);
                let Some(set) = known.get(name.as_str()).copied().or_else(before) else { continue };
                wanted.entry(name.clone()).or_insert_with(|| Load { set: set.clone(), mask: 0 }).mask |=
                    1 << bit;
            }
        }
        if wanted != self.loaded && (self.problems.is_empty() || wanted != self.refused) {
            self.load(wanted);
        }
    }

    /// The bits of the lists that a plan asks for.
    ///
    /// # Errors
    /// In words, if the table could not take a list.
    pub fn binding(&mut self, plan: &InterfacePlan) -> Result<Binding, String> {
        let lists = plan.lists();
        if lists.is_empty() {
            return Ok(Binding::default());
        }
        let live = self.table.path().map_err(|error| error.to_string())?.to_path_buf();
        let bit = |list: List| self.bit(&list).map(|bit| (list, bit));
        Ok(Binding { lists: lists.into_iter().map(bit).collect::<Result<_, _>>()?, live: Some(live) })
    }

    /// What the table holds and takes.
    pub fn figures(&self) -> Figures {
        self.table.figures()
    }

    /// Whether some rule reads the set.
    pub fn is_read(&self, set: &str) -> bool {
        self.loaded.contains_key(set)
    }

    /// Why the table does not hold what the set holds now.
    pub fn problem(&self, set: &str) -> Option<&str> {
        self.problems.get(set).map(String::as_str)
    }

    /// Whether the table holds what it should.
    pub fn is_settled(&self) -> bool {
        self.problems.is_empty()
    }

    fn bit(&self, list: &List) -> Result<u8, String> {
        let Some(bit) = self.lists.bit(list) else {
            return Err(
                "rules still read so many lists of address sets that there is no room for others yet".into(),
            );
        };
        let is_in = |set: &&String| self.loaded.get(*set).is_some_and(|load| load.mask & (1 << bit) != 0);
        match list.iter().find(|set| !is_in(set)) {
            None => Ok(bit),
            Some(set) => Err(format!(
                "the address set {set} could not be loaded: {}",
                self.problem(set).unwrap_or("it is not known")
            )),
        }
    }

    /// All at once, or as many sets as there is room for.
    fn load(&mut self, wanted: Loads) {
        self.problems.clear();
        let Err(error) = self.change(&wanted) else { return };
        warn!("not all address sets can be loaded: {error}");
        let names: BTreeSet<String> = self.loaded.keys().chain(wanted.keys()).cloned().collect();
        let (gone, there): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| !wanted.contains_key(name));
        for name in gone.into_iter().chain(there) {
            let mut next = self.loaded.clone();
            match wanted.get(&name) {
                Some(load) => drop(next.insert(name.clone(), load.clone())),
                None => drop(next.remove(&name)),
            }
            if next != self.loaded
                && let Err(error) = self.change(&next)
            {
                self.problems.insert(name, error.to_string());
            }
        }
        self.refused = wanted;
    }

    fn change(&mut self, wanted: &Loads) -> Result<(), Error> {
        self.table.change(&changes(&self.loaded, wanted))?;
        self.loaded = wanted.clone();
        Ok(())
    }
}
