//! Which policies want which device, and in which order devices are attached.

use std::collections::BTreeMap;

use crate::select::{Selection, select};
use crate::{LinkFacts, Policy, Skipped};

pub(super) fn links_by_index<'a>(links: &[&'a LinkFacts]) -> BTreeMap<u32, &'a LinkFacts> {
    links.iter().map(|link| (link.ifindex, *link)).collect()
}

/// By index of a device, how many devices lie below it. The index below a veth is that of its other end.
pub(super) fn heights(links: &[&LinkFacts], by_index: &BTreeMap<u32, &LinkFacts>) -> BTreeMap<u32, u32> {
    const DEEPEST: u32 = 8; // The kernel's own limit for nested devices.
    let mut above_below = Vec::new();
    for link in links {
        let parent = link.parent.filter(|_| !link.is_kind("veth"));
        above_below.extend(parent.map(|parent| (link.ifindex, parent)));
        above_below.extend(link.master.as_ref().map(|master| (master.ifindex, link.ifindex)));
    }
    above_below.retain(|(above, below)| above != below && by_index.contains_key(below));
    let mut heights: BTreeMap<u32, u32> = BTreeMap::new();
    for _ in 0..DEEPEST {
        let mut higher: BTreeMap<u32, u32> = BTreeMap::new();
        for (above, below) in &above_below {
            let height = 1 + heights.get(below).copied().unwrap_or_default();
            higher.entry(*above).and_modify(|known| *known = height.max(*known)).or_insert(height);
        }
        if higher == heights {
            break;
        }
        heights = higher;
    }
    heights
}

/// Which policies want which device, and by what.
pub(super) struct Claims<'a> {
    by_link: BTreeMap<u32, Vec<(&'a Policy, String)>>,
}

impl<'a> Claims<'a> {
    pub fn new(policies: &[&'a Policy], links: &[&LinkFacts], skipped: &mut Vec<Skipped>) -> Self {
        let mut by_link: BTreeMap<u32, Vec<(&Policy, String)>> = BTreeMap::new();
        for policy in policies {
            for link in links {
                match select(policy, link) {
                    Selection::No => {}
                    Selection::Yes { by } => by_link.entry(link.ifindex).or_default().push((policy, by)),
                    Selection::Refused { reason, message } => {
                        skipped.push(skip(link, policy, reason, message));
                    }
                }
            }
        }
        Self { by_link }
    }

    pub fn of(&self, link: &LinkFacts) -> &[(&'a Policy, String)] {
        self.by_link.get(&link.ifindex).map_or(&[], Vec::as_slice)
    }

    /// The kernel refuses a program on the port of a bond that has one, so the bond goes first,
    /// whichever policy asked for it.
    pub fn give_ports_to_their_bond(&mut self, links: &[&LinkFacts], skipped: &mut Vec<Skipped>) {
        let bonds: BTreeMap<u32, &str> = links
            .iter()
            .filter(|link| link.is_bond() && !self.of(link).is_empty())
            .map(|link| (link.ifindex, link.name.as_str()))
            .collect();
        for link in links {
            let Some(bond) = link.master.as_ref().and_then(|master| bonds.get(&master.ifindex)) else {
                continue;
            };
            for (policy, _) in self.by_link.remove(&link.ifindex).unwrap_or_default() {
                let message = format!(
                    "{} is a port of {bond}, which is selected too. The program on {bond} sees its packets.",
                    link.name
                );
                skipped.push(skip(link, policy, "EnslavedToSelected", message));
            }
        }
    }
}

fn skip(link: &LinkFacts, policy: &Policy, reason: &'static str, message: String) -> Skipped {
    let (interface, policy) = (link.name.clone(), policy.name.clone());
    Skipped { interface, ifindex: link.ifindex, policy, reason, message }
}
