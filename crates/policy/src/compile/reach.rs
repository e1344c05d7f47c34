//! Rules that no packet can reach, because rules before them decide about all that they match. The
//! answer is exact: every protocol is tried with every class of ports.

use std::collections::BTreeMap;

use sluice_ebpf_common::Tables;

use crate::check::has_ports;
use crate::{InterfacePlan, PolicyReport, Warning};

/// Adds a warning to the policy of every rule that is never reached, one for all its interfaces.
pub(super) fn warn(interfaces: &[InterfacePlan], reports: &mut [PolicyReport]) {
    let mut unreached: BTreeMap<(&str, &str), Vec<(&str, String)>> = BTreeMap::new();
    for interface in interfaces {
        for (rule, deciders) in unreached_rules(interface) {
            let rule = &interface.rules[rule];
            let place = (interface.name.as_str(), deciders);
            unreached.entry((&rule.policy, &rule.rule)).or_default().push(place);
        }
    }
    for ((policy, rule), places) in unreached {
        let Some(report) = reports.iter_mut().find(|report| report.name == policy) else {
            continue;
        };
        for (interface, deciders) in places {
            let message = format!(
                "rule {rule} is never reached on {interface}: {deciders} before it decide about all that it matches."
            );
            report.warnings.push(Warning { reason: "RuleNeverReached", message });
        }
    }
}

/// Indexes of such rules, each with the rules that decide in its place.
fn unreached_rules(interface: &InterfacePlan) -> Vec<(usize, String)> {
    let tables = interface.tables(&vec![0; interface.rules.len()]);
    let mut reached = 0_u64;
    let mut deciders = vec![0_u64; interface.rules.len()];
    for vector in possible_vectors(&tables) {
        let terminal = vector & (tables.drop | tables.pass);
        let first = terminal.isolate_lowest_one();
        let up_to_first = if first == 0 { u64::MAX } else { first | (first - 1) };
        reached |= vector & up_to_first;
        for (index, decider) in deciders.iter_mut().enumerate() {
            if vector & !up_to_first & (1 << index) != 0 {
                *decider |= first;
            }
        }
    }
    (0..interface.rules.len())
        .filter(|index| reached & (1 << index) == 0)
        .map(|index| (index, names(interface, deciders[index])))
        .collect()
}

/// The vectors of all packets there can be: a packet with ports has a protocol that has ports.
fn possible_vectors(tables: &Tables) -> Vec<u64> {
    let without_port = tables.protocol.iter().chain([&tables.protocol_unknown]);
    let mut vectors: Vec<u64> = without_port.map(|vector| vector & tables.destination_port_unknown).collect();
    let classes = usize::from(*tables.destination_port_class.iter().max().unwrap_or(&0));
    for protocol in (0..=u8::MAX).filter(|protocol| has_ports(*protocol)) {
        let vector = tables.protocol[usize::from(protocol)];
        vectors.extend(tables.destination_port[..=classes].iter().map(|ports| vector & ports));
    }
    vectors
}

fn names(interface: &InterfacePlan, rules: u64) -> String {
    let chosen = interface.rules.iter().enumerate().filter(|(index, _)| rules & (1 << index) != 0);
    let names: Vec<String> = chosen.map(|(_, rule)| format!("{}/{}", rule.policy, rule.rule)).collect();
    names.join(", ")
}
