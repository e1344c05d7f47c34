//! The failsafe of an interface: what its policies change, put together, as rules before all others.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::failsafe::{Service, ServiceChange};
use crate::{
    Action, Enforcement, Fields, FrameKind, IcmpRange, IpVersion, Matcher, NodeFacts, Policy, PortRange, Rule,
};

const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;

/// What the policies of one interface make of the failsafe.
#[derive(Default)]
pub(super) struct Merged<'a> {
    /// By changed service: the change that holds, and whose it is.
    pub changes: BTreeMap<Service, (&'a Policy, &'a ServiceChange)>,
    /// Changes that do not hold, because an earlier policy changes the service differently.
    pub overruled: Vec<(&'a Policy, Service)>,
    /// Policies whose changes do not hold, because they are dry runs beside others that are none.
    pub idle: Vec<&'a Policy>,
    extra: Vec<&'a Fields>,
}

impl<'a> Merged<'a> {
    /// In order, the first change of a service holds. A dry run changes no packet, so it may change the
    /// failsafe only where all are dry runs: there no packet depends on it, and counters show what would be.
    pub fn of(policies: impl Iterator<Item = &'a Policy> + Clone) -> Self {
        let enforces = |policy: &&Policy| policy.enforcement == Enforcement::Enforce;
        let any_enforces = policies.clone().any(|policy| enforces(&policy));
        let mut merged = Self::default();
        for policy in policies {
            let failsafe = &policy.failsafe;
            if any_enforces && !enforces(&policy) {
                let changes = !failsafe.services.is_empty() || !failsafe.extra.is_empty();
                merged.idle.extend(changes.then_some(policy));
                continue;
            }
            merged.extra.extend(&failsafe.extra);
            for (service, change) in &failsafe.services {
                let (_, holding) = merged.changes.entry(*service).or_insert((policy, change));
                if !is_same(holding, change) {
                    merged.overruled.push((policy, *service));
                }
            }
        }
        merged
    }

    /// The rules, in the order of services.
    pub fn rules(&self, facts: &NodeFacts) -> Vec<Rule> {
        let mut rules = Vec::new();
        for service in Service::ALL {
            let change = self.changes.get(service).map(|(_, change)| *change);
            let all = traffic(*service, facts).into_iter();
            let passing = all.filter_map(|fields| changed(fields, change));
            rules.extend(passing.map(|fields| pass(service.counter().to_owned(), fields)));
        }
        let numbered = self.extra.iter().zip(1..);
        rules.extend(numbered.map(|(fields, number)| pass(format!("extra-{number}"), (*fields).clone())));
        rules
    }
}

/// Whether two changes say the same, in whichever order.
fn is_same(left: &ServiceChange, right: &ServiceChange) -> bool {
    match (left, right) {
        (ServiceChange::Sources(left), ServiceChange::Sources(right)) => {
            left.iter().collect::<BTreeSet<_>>() == right.iter().collect()
        }
        _ => left == right,
    }
}

fn pass(name: String, fields: Fields) -> Rule {
    Rule { name, matcher: Matcher { fields, not: None }, action: Action::Pass }
}

/// What is left of a service's traffic under a change. Traffic that has sources of its own keeps those that
/// the change allows.
fn changed(mut fields: Fields, change: Option<&ServiceChange>) -> Option<Fields> {
    match change {
        None => Some(fields),
        Some(ServiceChange::Disabled) => None,
        Some(ServiceChange::Sources(allowed)) if fields.sources.is_empty() => {
            fields.sources.clone_from(allowed);
            Some(fields)
        }
        Some(ServiceChange::Sources(allowed)) => {
            fields.sources.retain(|source| allowed.iter().any(|prefix| prefix.contains(source)));
            (!fields.sources.is_empty()).then_some(fields)
        }
    }
}

/// What a service is on the wire; alternatives.
pub(super) fn traffic(service: Service, facts: &NodeFacts) -> Vec<Fields> {
    match service {
        Service::Arp => vec![frame(FrameKind::Arp)],
        Service::NeighborDiscovery => vec![icmp(ICMPV6, &[(133, 137)])],
        Service::MulticastListenerDiscovery => vec![icmp(ICMPV6, &[(130, 132), (143, 143)])],
        Service::IcmpErrors => vec![icmp(ICMP, &[(3, 3), (11, 12)]), icmp(ICMPV6, &[(1, 4)])],
        Service::Dhcp => vec![
            Fields { ip_version: Some(IpVersion::V4), ..to_ports(UDP, [68]) },
            Fields { ip_version: Some(IpVersion::V6), ..to_ports(UDP, [546]) },
        ],
        Service::LinkControl => vec![frame(FrameKind::LinkControl)],
        Service::ApiServer => api_servers(facts),
        Service::Resolver => {
            let sources = hosts(facts.resolvers.iter().copied());
            let protocols = [UDP, TCP].into_iter().filter(|_| !sources.is_empty());
            protocols.map(|protocol| from_port(protocol, 53, sources.clone())).collect()
        }
        Service::Kubelet => vec![to_ports(TCP, [10250])],
        Service::Ssh => vec![to_ports(TCP, [22])],
        Service::Overlay => {
            let ports: BTreeSet<u16> = facts.overlay_ports.iter().copied().collect();
            if ports.is_empty() { Vec::new() } else { vec![to_ports(UDP, ports)] }
        }
    }
}

/// One alternative for each port, so that an address passes with its own port only.
fn api_servers(facts: &NodeFacts) -> Vec<Fields> {
    let mut by_port: BTreeMap<u16, Vec<IpAddr>> = BTreeMap::new();
    for endpoint in &facts.api_servers {
        by_port.entry(endpoint.port()).or_default().push(endpoint.ip());
    }
    by_port.into_iter().map(|(port, addresses)| from_port(TCP, port, hosts(addresses))).collect()
}

fn frame(kind: FrameKind) -> Fields {
    Fields { frame: Some(kind), ..Fields::default() }
}

fn icmp(protocol: u8, types: &[(u8, u8)]) -> Fields {
    let range = |(first_type, last_type): &(u8, u8)| IcmpRange {
        first_type: *first_type,
        last_type: *last_type,
        code: None,
    };
    Fields { protocol: Some(protocol), icmp: types.iter().map(range).collect(), ..Fields::default() }
}

fn to_ports(protocol: u8, ports: impl IntoIterator<Item = u16>) -> Fields {
    Fields {
        protocol: Some(protocol),
        destination_ports: ports.into_iter().map(one_port).collect(),
        ..Fields::default()
    }
}

fn from_port(protocol: u8, port: u16, sources: Vec<IpNet>) -> Fields {
    let source_ports = vec![one_port(port)];
    Fields { protocol: Some(protocol), source_ports, sources, ..Fields::default() }
}

fn one_port(port: u16) -> PortRange {
    PortRange { first: port, last: port }
}

/// Prefixes of one address each, sorted, each once. An IPv4 address in IPv6 form comes in IPv4 packets.
fn hosts(addresses: impl IntoIterator<Item = IpAddr>) -> Vec<IpNet> {
    let hosts: BTreeSet<IpNet> = addresses.into_iter().map(|address| address.to_canonical().into()).collect();
    hosts.into_iter().collect()
}
