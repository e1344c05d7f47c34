//! The prefixes of sets that the compiler warns about, found once for each content of a set.

use std::{collections::BTreeMap, sync::Arc};

use ipnet::IpNet;
use sluice_policy::{CidrSet, NodeFacts, SetFacts};

use crate::policy_directory::KnownSet;

/// What was found for the node as it was last.
#[derive(Debug, Default)]
pub struct Notable {
    node: NodeFacts,
    by_set: BTreeMap<String, (Arc<CidrSet>, Vec<IpNet>)>,
}

impl Notable {
    /// The sets as the compiler sees them.
    pub fn of(&mut self, sets: &[KnownSet], node: &NodeFacts) -> Vec<SetFacts> {
        if self.node != *node {
            *self = Self { node: node.clone(), by_set: BTreeMap::new() };
        }
        let mut known = std::mem::take(&mut self.by_set);
        for KnownSet { set, .. } in sets {
            let found = known.remove(&set.name).filter(|(before, _)| Arc::ptr_eq(before, set));
            let found = found.unwrap_or_else(|| {
                let notable = set.prefixes.iter().filter(|prefix| node.is_notable(prefix));
                (set.clone(), notable.copied().collect())
            });
            self.by_set.insert(set.name.clone(), found);
        }
        let facts = |(set, wide): &(Arc<CidrSet>, Vec<IpNet>)| SetFacts {
            name: set.name.clone(),
            labels: set.labels.clone(),
            wide: wide.clone(),
        };
        self.by_set.values().map(facts).collect()
    }
}
