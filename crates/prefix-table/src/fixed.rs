//! Tables that never change: the prefixes that rules list. They are built whole, and belong to one program instance.

use crate::build::{Entry, Row, fill};
use crate::node::Nodes;
use crate::prefix::{Family, Prefix};
use ipnet::IpNet;
use sluice_ebpf_common::prefixes::{PAGE, ROOT_SLOTS, UNIT, fixed};
use std::collections::HashMap;
use std::hash::Hash;

/// An address table whose classes are sets of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedTable<L> {
    /// Whole pages, in the layout `prefixes::fixed`, in this machine's byte order.
    pub memory: Vec<u8>,
    /// By class: the labels of all prefixes that hold its addresses, in order. Class 0 has none.
    pub classes: Vec<Vec<L>>,
}

/// The prefixes overlap in so many ways that class numbers do not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prefixes of the rules overlap in more than {MAX_CLASSES} different ways, which is more than one program can tell apart: \
     split the policy, or put prefixes that belong together into an XdpCidrSet"
)]
pub struct TooManyClasses;

/// Most classes of a table, beside class 0.
pub const MAX_CLASSES: usize = u16::MAX as usize;

/// Builds a table. A prefix may be given more than once, with the same label or with others.
pub fn build<L: Copy + Ord + Hash>(
    prefixes: impl Iterator<Item = (IpNet, L)>,
) -> Result<FixedTable<L>, TooManyClasses> {
    let mut labelled = [Vec::new(), Vec::new()];
    for (prefix, label) in prefixes {
        labelled[Family::of(&prefix) as usize].push((Prefix::new(&prefix), label));
    }
    let mut classes = Classes::new();
    let mut nodes = Memory { bytes: vec![0; fixed::NODES] };
    for (family, prefixes) in Family::BOTH.into_iter().zip(&mut labelled) {
        prefixes.sort_unstable();
        prefixes.dedup();
        let entries = entries(prefixes, &mut classes)?;
        let mut root = vec![0; ROOT_SLOTS];
        fill(&mut nodes, family, Row { start: 0, width: 16, first: 0 }, &mut root, &entries);
        nodes.put_root(family, &root);
    }
    nodes.bytes.resize(nodes.bytes.len().next_multiple_of(PAGE), 0);
    Ok(FixedTable { memory: nodes.bytes, classes: classes.labels })
}

/// Sorted prefixes with their labels to entries with classes.
fn entries<L: Copy + Ord + Hash>(
    labelled: &[(Prefix, L)],
    classes: &mut Classes<L>,
) -> Result<Vec<Entry>, TooManyClasses> {
    let mut around: Vec<Entry> = Vec::new();
    let mut entries = Vec::with_capacity(labelled.len());
    for group in labelled.chunk_by(|a, b| a.0 == b.0) {
        let prefix = group[0].0;
        while around.last().is_some_and(|outer| !outer.prefix.contains(prefix)) {
            around.pop();
        }
        let outer = around.last().map_or(0, |outer| outer.class);
        let class = classes.within(outer, group.iter().map(|(_, label)| *label).collect())?;
        around.push(Entry { prefix, class });
        entries.push(Entry { prefix, class });
    }
    Ok(entries)
}

struct Classes<L> {
    labels: Vec<Vec<L>>,
    by_labels: HashMap<Vec<L>, u16>,
    /// By outer class and the labels of a prefix: saves the union of sets where many prefixes are alike.
    by_step: HashMap<(u16, Vec<L>), u16>,
}

impl<L: Copy + Ord + Hash> Classes<L> {
    fn new() -> Self {
        Self {
            labels: vec![Vec::new()],
            by_labels: HashMap::from([(Vec::new(), 0)]),
            by_step: HashMap::new(),
        }
    }

    /// The class of a prefix with these labels inside an outer class.
    fn within(&mut self, outer: u16, own: Vec<L>) -> Result<u16, TooManyClasses> {
        let step = (outer, own);
        if let Some(class) = self.by_step.get(&step) {
            return Ok(*class);
        }
        let mut labels = self.labels[usize::from(outer)].clone();
        labels.extend(&step.1);
        labels.sort_unstable();
        labels.dedup();
        let class = self.class(labels)?;
        self.by_step.insert(step, class);
        Ok(class)
    }

    fn class(&mut self, labels: Vec<L>) -> Result<u16, TooManyClasses> {
        if let Some(class) = self.by_labels.get(&labels) {
            return Ok(*class);
        }
        let class = u16::try_from(self.labels.len()).map_err(|_| TooManyClasses)?;
        self.labels.push(labels.clone());
        self.by_labels.insert(labels, class);
        Ok(class)
    }
}

struct Memory {
    bytes: Vec<u8>,
}

impl Memory {
    fn put_root(&mut self, family: Family, root: &[u32]) {
        let start = match family {
            Family::V4 => fixed::ROOT_V4,
            Family::V6 => fixed::ROOT_V6,
        };
        for (bytes, slot) in self.bytes[start..].as_chunks_mut().0.iter_mut().zip(root) {
            *bytes = slot.to_ne_bytes();
        }
    }
}

impl Nodes for Memory {
    fn put(&mut self, bytes: &[u8]) -> u32 {
        let used = self.bytes.len() % PAGE;
        if used + bytes.len() > PAGE {
            self.bytes.resize(self.bytes.len() + PAGE - used, 0);
        }
        let unit = self.bytes.len() / UNIT;
        self.bytes.extend_from_slice(bytes);
        // 65,535 classes cannot make 16 GiB of nodes out of prefixes that fit into a policy.
        u32::try_from(unit).unwrap_or(u32::MAX)
    }

    fn load(&self, offset: usize) -> u64 {
        let bytes = self.bytes.get(offset..).and_then(<[u8]>::first_chunk);
        bytes.copied().map_or(0, u64::from_ne_bytes)
    }
}
