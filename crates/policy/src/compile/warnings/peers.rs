//! Drop rules whose addresses cover what the node talks to: its gateway, resolvers and API servers.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::{Found, warn};
use crate::compile::reach::Reach;
use crate::compile::sets::{ResolvedNode, Sets};
use crate::{Action, Fields, InterfacePlan, Matcher};

pub(super) fn find(plan: &InterfacePlan, reach: &mut Reach<'_>, node: &ResolvedNode<'_>, found: &mut Found) {
    for (index, rule) in plan.rules.iter().enumerate().filter(|(_, rule)| rule.action == Action::Drop) {
        let mut entries = BTreeSet::new();
        let mut peers = BTreeSet::new();
        for (kind, address) in node.facts.peers() {
            let covering = covering(&rule.matcher, address, &node.sets);
            if covering.is_empty() || is_passed(reach, index, &rule.matcher, address) {
                continue;
            }
            entries.extend(covering);
            peers.insert(format!("{kind} {address}"));
        }
        if peers.is_empty() {
            continue;
        }
        let join = |words: BTreeSet<String>| words.into_iter().collect::<Vec<_>>().join(", ");
        let (rule_name, entries, peers) = (&rule.rule, join(entries), join(peers));
        let message = format!(
            "rule {rule_name} drops what comes from {entries}, which covers this node's {peers}: only what the \
             failsafe passes of these gets through. Take the prefix out, or pass these addresses in a rule before it."
        );
        warn(found, &rule.policy, "CoversNodePeers", message);
    }
}

/// The prefixes by which a rule takes packets from `address`, in words; none if it does not.
fn covering(matcher: &Matcher, address: IpAddr, sets: &Sets<'_>) -> Vec<String> {
    let fields = &matcher.fields;
    let is_excepted = matcher.not.as_ref().is_some_and(|not| {
        let only_sources = Fields { sources: not.sources.clone(), ..Fields::default() };
        *not == only_sources && holds(&not.sources, address).next().is_some()
    });
    let inline: Vec<String> = holds(&fields.sources, address).map(ToString::to_string).collect();
    let from_sets: Vec<String> = set_entries(fields, address, sets);
    let sources_fit = fields.sources.is_empty() || !inline.is_empty();
    let sets_fit = fields.source_sets.is_none() || !from_sets.is_empty();
    if is_excepted || !sources_fit || !sets_fit {
        return Vec::new();
    }
    // Who writes a prefix and ports by hand knows what he writes; what is in a list he may not know.
    let is_deliberate = fields.source_sets.is_none() && !is_broad(fields);
    if is_deliberate { Vec::new() } else { inline.into_iter().chain(from_sets).collect() }
}

fn holds(prefixes: &[IpNet], address: IpAddr) -> impl Iterator<Item = &IpNet> {
    prefixes.iter().filter(move |prefix| prefix.contains(&address))
}

fn set_entries(fields: &Fields, address: IpAddr, sets: &Sets<'_>) -> Vec<String> {
    let names = fields.source_sets.iter().flat_map(|reference| &reference.names);
    let known = names.filter_map(|name| sets.get(name));
    known
        .flat_map(|set| {
            holds(&set.wide, address).map(move |prefix| format!("{prefix} in XdpCidrSet {}", set.name))
        })
        .collect()
}

/// Whether a rule asks for addresses, protocol and IP version at most.
fn is_broad(fields: &Fields) -> bool {
    let Fields { protocol, sources, source_sets, ip_version, .. } = fields.clone();
    *fields == Fields { protocol, sources, source_sets, ip_version, ..Fields::default() }
}

/// Whether an earlier rule passes all from `address` that this one would take.
fn is_passed(reach: &mut Reach<'_>, index: usize, matcher: &Matcher, address: IpAddr) -> bool {
    let mut narrowed = matcher.clone();
    narrowed.fields.sources = vec![address.into()];
    narrowed.fields.source_sets = None;
    let packets = reach.shape(&narrowed);
    reach.passes_all(&packets, index)
}
