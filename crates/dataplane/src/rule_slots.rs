//! Which rule counts in which slot. The names are kept in a pinned map beside the counters, so that a
//! rule keeps its counter over revisions and restarts of the agent.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use aya::{
    Pod,
    maps::{HashMap, Map, MapData, MapError},
};
use sluice_ebpf_common::{Counter, Counters, RULE_SLOTS};

use crate::Error;

/// `BPF_F_NO_PREALLOC`: memory is used for names that exist, not for every slot.
const NO_PREALLOC: u32 = 1;
/// A policy name (253 bytes), a slash and a rule name (63 bytes), rounded up.
const NAME_BYTES: usize = 320;

/// A rule's name, and what its slot had counted when the rule got it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Named {
    base: Counter,
    name: [u8; NAME_BYTES],
}

const _: () = assert!(size_of::<Named>() == size_of::<Counter>() + NAME_BYTES);

// SAFETY: repr(C), integers and bytes without padding (the size is asserted above).
unsafe impl Pod for Named {}

/// The names of an interface's counter slots.
#[derive(Debug)]
pub(crate) struct RuleSlots {
    ifindex: u32,
    names: HashMap<MapData, u32, Named>,
}

/// Slots for the rules of a revision.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    /// One a rule, in order.
    pub(crate) slots: Vec<u16>,
    /// Those that another rule had until now.
    pub(crate) recycled: Vec<u16>,
}

impl RuleSlots {
    /// Opens the map pinned at `path`, or makes it.
    pub(crate) fn open(path: &Path, ifindex: u32) -> Result<Self, Error> {
        let in_map = |source| Error::Map { ifindex, source };
        if !path.exists() {
            let slots = u32::try_from(RULE_SLOTS).unwrap_or(u32::MAX);
            let made: HashMap<MapData, u32, Named> = HashMap::create(slots, NO_PREALLOC).map_err(in_map)?;
            made.pin(path).map_err(|source| Error::Pin { path: path.to_path_buf(), source })?;
        }
        let data = MapData::from_pin(path).map_err(in_map)?;
        let names = HashMap::try_from(Map::HashMap(data)).map_err(in_map)?;
        Ok(Self { ifindex, names })
    }

    /// A slot for each rule: the one that it has, else one that no rule has, else one whose rule is
    /// not among `rules`. `counters` is what the slots have counted so far.
    pub(crate) fn assign(&mut self, rules: &[String], counters: &Counters) -> Result<Assigned, Error> {
        let mut by_name: BTreeMap<String, u16> =
            self.entries()?.into_iter().map(|(slot, named)| (named.name(), slot)).collect();
        let mut assigned = Assigned::default();
        for rule in rules {
            let slot = match by_name.get(rule) {
                Some(slot) => *slot,
                None => self.claim(rule, rules, &mut by_name, counters, &mut assigned.recycled)?,
            };
            assigned.slots.push(slot);
        }
        Ok(assigned)
    }

    fn claim(
        &mut self,
        rule: &str,
        wanted: &[String],
        by_name: &mut BTreeMap<String, u16>,
        counters: &Counters,
        recycled: &mut Vec<u16>,
    ) -> Result<u16, Error> {
        let slot = if let Some(slot) = free_slot(by_name) {
            slot
        } else {
            let slot = retire(by_name, wanted)
                .ok_or_else(|| Error::NoRuleSlot { ifindex: self.ifindex, rule: rule.to_owned() })?;
            recycled.push(slot);
            slot
        };
        self.write(slot, &Named::new(rule, counters.rules[usize::from(slot)]))?;
        by_name.insert(rule.to_owned(), slot);
        Ok(slot)
    }

    /// Lets the counts of `slots` begin at what `counters` says: until now their old rules may have counted.
    pub(crate) fn rebase(&mut self, slots: &[u16], counters: &Counters) -> Result<(), Error> {
        for (slot, named) in self.entries()?.into_iter().filter(|(slot, _)| slots.contains(slot)) {
            self.write(slot, &Named { base: counters.rules[usize::from(slot)], ..named })?;
        }
        Ok(())
    }

    fn write(&mut self, slot: u16, named: &Named) -> Result<(), Error> {
        self.names
            .insert(&u32::from(slot), named, 0)
            .map_err(|source| Error::Map { ifindex: self.ifindex, source })
    }

    /// What each named rule has counted since it got its slot.
    pub(crate) fn counted(&self, counters: &Counters) -> Result<BTreeMap<String, Counter>, Error> {
        let since = |slot: u16, base: Counter| {
            let now = counters.rules[usize::from(slot)];
            Counter {
                packets: now.packets.saturating_sub(base.packets),
                bytes: now.bytes.saturating_sub(base.bytes),
            }
        };
        let entries = self.entries()?;
        Ok(entries.into_iter().map(|(slot, named)| (named.name(), since(slot, named.base))).collect())
    }

    fn entries(&self) -> Result<Vec<(u16, Named)>, Error> {
        let entries: Result<Vec<_>, MapError> = self.names.iter().collect();
        let entries = entries.map_err(|source| Error::Map { ifindex: self.ifindex, source })?;
        let in_range = |(slot, named): (u32, Named)| Some((u16::try_from(slot).ok()?, named));
        Ok(entries
            .into_iter()
            .filter_map(in_range)
            .filter(|(slot, _)| usize::from(*slot) < RULE_SLOTS)
            .collect())
    }
}

/// Takes the slot of some rule that is not wanted.
fn retire(by_name: &mut BTreeMap<String, u16>, wanted: &[String]) -> Option<u16> {
    let name = by_name.keys().find(|name| !wanted.contains(name)).cloned()?;
    by_name.remove(&name)
}

fn free_slot(by_name: &BTreeMap<String, u16>) -> Option<u16> {
    let used: BTreeSet<u16> = by_name.values().copied().collect();
    (0..u16::try_from(RULE_SLOTS).unwrap_or(u16::MAX)).find(|slot| !used.contains(slot))
}

impl Named {
    fn new(rule: &str, base: Counter) -> Self {
        let mut name = [0; NAME_BYTES];
        for (to, from) in name.iter_mut().zip(rule.bytes()) {
            *to = from;
        }
        Self { base, name }
    }

    fn name(&self) -> String {
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        String::from_utf8_lossy(&self.name[..end]).into_owned()
    }
}
