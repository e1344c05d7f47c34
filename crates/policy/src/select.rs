//! Which interfaces a policy selects. Physical NICs, bonds and virtual devices are told apart by
//! what the kernel says of them, never by the look of their names.

use crate::{InterfaceSelector, LinkFacts, Policy, Warning};

/// What a policy makes of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// It does not ask for it.
    No,
    /// It asks for it; in words, by what.
    Yes { by: String },
    /// It asks for it, but cannot have it.
    Refused { reason: &'static str, message: String },
}

/// Whether any entry of the policy selects the device. One that may have it outweighs one that may not.
pub(crate) fn select(policy: &Policy, link: &LinkFacts) -> Selection {
    let mut selection = Selection::No;
    for entry in &policy.interfaces {
        match by_entry(entry, link) {
            yes @ Selection::Yes { .. } => return yes,
            refused @ Selection::Refused { .. } => selection = refused,
            Selection::No => {}
        }
    }
    selection
}

fn by_entry(entry: &InterfaceSelector, link: &LinkFacts) -> Selection {
    let mut by = Vec::new();
    let mut is_named = false;
    if !entry.names.is_empty() {
        match by_name(entry, link) {
            Some((words, exact)) => {
                by.push(words);
                is_named = exact;
            }
            None => return Selection::No,
        }
    }
    if !entry.drivers.is_empty() {
        match link.driver.as_ref().filter(|driver| link.is_physical() && entry.drivers.contains(driver)) {
            Some(driver) => by.push(format!("driver {driver}")),
            None => return Selection::No,
        }
    }
    if !entry.pci_addresses.is_empty() {
        let address = link.bus_address.as_ref().map(|address| address.to_ascii_lowercase());
        match address.filter(|address| link.is_physical() && entry.pci_addresses.contains(address)) {
            Some(address) => by.push(format!("PCI address {address}")),
            None => return Selection::No,
        }
    }
    if by.is_empty() { Selection::No } else { held_to_facts(link, is_named, by.join(", ")) }
}

/// The name or pattern that fits, in words, and whether it is exact. An exact one is preferred: it
/// may select what a pattern may not.
fn by_name(entry: &InterfaceSelector, link: &LinkFacts) -> Option<(String, bool)> {
    let open_to_patterns = link.is_physical() || link.is_bond();
    let mut found = None;
    for pattern in &entry.names {
        let is_exact = pattern.is_exact();
        if !is_exact && (!open_to_patterns || found.is_some()) {
            continue;
        }
        let kind = if is_exact { "name" } else { "pattern" };
        let words = if pattern.matches(&link.name) {
            format!("{kind} {pattern}")
        } else if let Some(other) = link.alternative_names.iter().find(|other| pattern.matches(other)) {
            if is_exact {
                format!("alternative name {other}")
            } else {
                format!("{kind} {pattern} (alternative name {other})")
            }
        } else {
            continue;
        };
        if is_exact {
            return Some((words, true));
        }
        found = Some((words, false));
    }
    found
}

fn held_to_facts(link: &LinkFacts, is_named: bool, by: String) -> Selection {
    let name = &link.name;
    if !link.has_ethernet_header() {
        return Selection::Refused {
            reason: "NoEthernetHeader",
            message: crate::attach::no_ethernet_header(link),
        };
    }
    match &link.master {
        Some(master) if !is_named && !matches!(master.kind.as_deref(), Some("bond" | "team" | "vrf")) => {
            let kind = master.kind.as_deref().unwrap_or("of another kind");
            Selection::Refused {
                reason: "PortOfOther",
                message: format!(
                    "{name} is a port of another device ({kind}). Only an exact name selects such a port: add {name} to names if that is meant."
                ),
            }
        }
        _ => Selection::Yes { by },
    }
}

/// Names, drivers and addresses that select nothing here. That is no failure: entries are
/// alternatives, and another node may have what this one has not.
pub(crate) fn without_match(policy: &Policy, links: &[&LinkFacts]) -> Vec<Warning> {
    let mut missing = Vec::new();
    for entry in &policy.interfaces {
        for pattern in &entry.names {
            let only = InterfaceSelector { names: vec![pattern.clone()], ..InterfaceSelector::default() };
            let message = if pattern.is_exact() {
                format!("no interface has the name {pattern}")
            } else {
                format!("no physical NIC or bond matches {pattern}; other interfaces must be named exactly")
            };
            missing.push((only, message));
        }
        for driver in &entry.drivers {
            let only = InterfaceSelector { drivers: vec![driver.clone()], ..InterfaceSelector::default() };
            missing.push((only, format!("no physical NIC has the driver {driver}")));
        }
        for address in &entry.pci_addresses {
            let only =
                InterfaceSelector { pci_addresses: vec![address.clone()], ..InterfaceSelector::default() };
            missing.push((only, format!("no physical NIC has the PCI address {address}")));
        }
    }
    missing.retain(|(only, _)| links.iter().all(|link| by_entry(only, link) == Selection::No));
    missing.dedup();
    missing.into_iter().map(|(_, message)| Warning { reason: "NothingMatches", message }).collect()
}
