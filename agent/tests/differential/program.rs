//! A loaded program, and what it has counted, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ipnet::IpNet;
use sluice_dataplane::address_sets::AddressSets;
use sluice_dataplane::bpffs::PinFolder;
use sluice_dataplane::instance::{Content, Instance, Output, Varied};
use sluice_ebpf_common::{Counter, Event, Malformed, Metadata, Outcome, RULE_SLOTS, prefixes::MAX_LISTS};
use sluice_policy::{Bindings, CompiledRules, InterfacePlan};
use sluice_testkit::BpffsDir;

use crate::policies::Sets;

/// Sources that have a bucket: more than there are in a run.
const SOURCES: u32 = 16384;

/// The address sets of a machine. They stay over programs, so that what one leaves behind, the next one finds.
pub struct Machine {
    sets: AddressSets,
    masks: BTreeMap<IpNet, u64>,
    // In the order in which they are to go.
    _pins: PinFolder,
    _directory: BpffsDir,
}

/// A program with its counters.
pub struct Program {
    instance: Instance,
    bindings: Bindings,
}

/// Packets and bytes by the name of what counts them. What has counted nothing is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted(BTreeMap<String, (u64, u64)>);

impl Machine {
    pub fn new() -> Self {
        let directory = BpffsDir::new("differential").unwrap();
        let pins = PinFolder::open(&directory.path().join("pins")).unwrap();
        Self {
            sets: AddressSets::open(&pins).unwrap(),
            masks: BTreeMap::new(),
            _pins: pins,
            _directory: directory,
        }
    }

    /// Loads what the plan compiles to under `bindings`.
    pub fn load(
        &mut self,
        plan: &InterfacePlan,
        sets: &Sets,
        bindings: Bindings,
        compiled: &CompiledRules,
    ) -> Program {
        self.fill(plan, sets, &bindings);
        let content = Content { tables: &compiled.tables, prefixes: &compiled.prefixes };
        let live = self.sets.path().unwrap();
        let instance = Instance::load_unpinned(&content, SOURCES, Some(live), &Varied::default()).unwrap();
        Program { instance, bindings }
    }

    /// Lets the table of address sets hold what the lists of the plan hold now.
    fn fill(&mut self, plan: &InterfacePlan, sets: &Sets, bindings: &Bindings) {
        let mut masks: BTreeMap<IpNet, u64> = BTreeMap::new();
        for list in plan.lists() {
            let bit = 1 << bindings.lists[&list];
            for prefix in list.iter().filter_map(|set| sets.get(set)).flatten() {
                *masks.entry(*prefix).or_default() |= bit;
            }
        }
        let gone = self.masks.keys().filter(|prefix| !masks.contains_key(prefix)).map(|prefix| (*prefix, 0));
        let changes: Vec<(IpNet, u64)> =
            masks.iter().map(|(prefix, mask)| (*prefix, *mask)).chain(gone).collect();
        self.sets.change(&changes).unwrap();
        self.masks = masks;
    }
}

/// Slots and bits in no order, so that nothing is taken for its number.
pub fn bindings(plan: &InterfacePlan) -> Bindings {
    let slot = |index: usize| u16::try_from((index * 1237 + 5) % RULE_SLOTS).unwrap();
    let bit = |index: usize| u8::try_from((index * 29 + 63) % MAX_LISTS).unwrap();
    Bindings {
        slots: plan
            .counter_names()
            .into_iter()
            .enumerate()
            .map(|(index, name)| (name, slot(index)))
            .collect(),
        lists: plan.lists().into_iter().enumerate().map(|(index, list)| (list, bit(index))).collect(),
    }
}

impl Program {
    pub fn run(&self, frame: &[u8]) -> Output {
        self.instance.run_once(frame).unwrap_or_else(|error| panic!("{error}: {}", hex(frame)))
    }

    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The slot of a name.
    pub fn slot(&self, name: &str) -> u16 {
        self.bindings.slots[name]
    }

    /// Everything that has been counted so far.
    pub fn counted(&self) -> Counted {
        let counters = self.instance.counters().unwrap();
        let mut counted = Counted::default();
        let mut add = |name: String, counter: Counter| {
            if counter != Counter::ZERO {
                counted.0.insert(name, (counter.packets, counter.bytes));
            }
        };
        for outcome in Outcome::ALL {
            add(outcome_name(*outcome), counters.outcomes[*outcome as usize]);
        }
        for event in Event::ALL {
            add(event_name(*event), counters.events[*event as usize]);
        }
        for reason in Malformed::ALL {
            add(malformed_name(*reason), counters.malformed[*reason as usize]);
        }
        for (name, slot) in &self.bindings.slots {
            add(name.clone(), counters.rules[usize::from(*slot)]);
        }
        let known: BTreeSet<usize> = self.bindings.slots.values().map(|slot| usize::from(*slot)).collect();
        for slot in (0..RULE_SLOTS).filter(|slot| !known.contains(slot)) {
            add(format!("slot {slot}, which no rule has"), counters.rules[slot]);
        }
        counted
    }
}

pub fn outcome_name(outcome: Outcome) -> String {
    format!("outcome {}", outcome.name())
}

pub fn event_name(event: Event) -> String {
    format!("event {}", event.name())
}

pub fn malformed_name(reason: Malformed) -> String {
    format!("malformed {}", reason.name())
}

impl Counted {
    /// Counts a frame of so many bytes.
    pub fn add(&mut self, name: String, bytes: usize) {
        let (packets, sum) = self.0.entry(name).or_default();
        *packets += 1;
        *sum += bytes as u64;
    }

    /// Packets under a name.
    pub fn packets(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |(packets, _)| *packets)
    }

    /// What has been counted since.
    pub fn since(&self, before: &Self) -> Self {
        let one = |(name, (packets, bytes)): (&String, &(u64, u64))| {
            let (packets_before, bytes_before) = before.0.get(name).copied().unwrap_or_default();
            let since = (packets - packets_before, bytes - bytes_before);
            (since != (0, 0)).then(|| (name.clone(), since))
        };
        Self(self.0.iter().filter_map(one).collect())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<String> =
            self.0.iter().map(|(name, (packets, bytes))| format!("{name} {packets} ({bytes} B)")).collect();
        write!(formatter, "{}", each.join(", "))
    }
}

/// The header that a run has left in front of the packet; anything that is none fails.
pub fn metadata(output: &Output) -> Option<Metadata> {
    let bytes: &[u8; 16] = output.metadata.first_chunk()?;
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    let metadata = Metadata {
        magic: half(0),
        version: bytes[2],
        kind: bytes[3],
        length: bytes[4],
        flags: bytes[5],
        rule: half(6),
        mark: word(8),
        priority: word(12),
    };
    assert!(metadata.is_ours(), "{metadata:?}");
    Some(metadata)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
