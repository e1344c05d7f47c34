//! Random checked policies, of every shape that a document can have.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, missing_docs)]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use sluice_api::SteerAlgorithm;
use sluice_policy::failsafe::{Failsafe, Service, ServiceChange};
use sluice_policy::{
    Action, DefaultAction, Enforcement, Fields, FragmentPart, IcmpRange, IpVersion, LengthRange, Mark,
    Matcher, Mode, Policy, PortRange, RateLimit, RateUnit, Rule, SetReference, SourcePrefix, Steer, TcpFlags,
};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;

/// Everything but the document, the file and the interfaces.
pub fn policy() -> impl Strategy<Value = Policy> {
    let head = (
        any::<i32>(),
        select(vec![Mode::Auto, Mode::Native, Mode::Generic]),
        select(vec![Enforcement::Enforce, Enforcement::DryRun]),
        option::of(select(vec![DefaultAction::Pass, DefaultAction::Drop])),
    );
    (head, failsafe(), vec((matcher(), action()), 1..6)).prop_map(|(head, failsafe, rules)| {
        let (priority, mode, enforcement, default_action) = head;
        let rules = rules.into_iter().enumerate().map(|(index, (matcher, action))| Rule {
            name: format!("r{index}"),
            matcher,
            action,
        });
        Policy {
            name: "p".to_owned(),
            file: "p.yaml".to_owned(),
            document: serde_json::Value::Null,
            priority,
            mode,
            enforcement,
            default_action,
            failsafe,
            interfaces: Vec::new(),
            rules: rules.collect(),
        }
    })
}

fn matcher() -> impl Strategy<Value = Matcher> {
    let never_empty = |fields: &Fields| !fields.is_empty();
    let fields = fields(None).prop_filter("a rule that drops must match something", never_empty);
    fields.prop_flat_map(move |outer| {
        let not = self::fields(outer.protocol).prop_filter("an empty not is refused", never_empty);
        option::of(not).prop_map(move |not| Matcher { fields: outer.clone(), not })
    })
}

/// Fields that go together, around which packets have `protocol` anyway.
fn fields(around: Option<u8>) -> impl Strategy<Value = Fields> {
    let protocol = option::of(prop_oneof![select(vec![ICMP, TCP, UDP, ICMPV6, SCTP]), any::<u8>()]);
    (protocol, option::of(any::<bool>())).prop_flat_map(move |(protocol, is_v4)| {
        // One family for all addresses, or (absent) both in each list.
        let is_v4 = match protocol {
            Some(ICMP) => Some(true),
            Some(ICMPV6) => Some(false),
            _ => is_v4,
        };
        (upper(protocol.or(around)), lower(is_v4), sets(), sets()).prop_map(
            move |(upper, lower, source_sets, destination_sets)| Fields {
                protocol,
                source_sets,
                destination_sets,
                source_ports: upper.source_ports,
                destination_ports: upper.destination_ports,
                tcp_flags: upper.tcp_flags,
                icmp: upper.icmp,
                ..lower
            },
        )
    })
}

/// What lies behind the IP header.
fn upper(protocol: Option<u8>) -> BoxedStrategy<Fields> {
    match protocol {
        Some(TCP) => (vec(ports(), 0..3), vec(ports(), 0..3), option::of(flags()))
            .prop_map(|(source_ports, destination_ports, tcp_flags)| Fields {
                source_ports,
                destination_ports,
                tcp_flags,
                ..Fields::default()
            })
            .boxed(),
        Some(UDP | SCTP) => (vec(ports(), 0..3), vec(ports(), 0..3))
            .prop_map(|(source_ports, destination_ports)| Fields {
                source_ports,
                destination_ports,
                ..Fields::default()
            })
            .boxed(),
        Some(ICMP | ICMPV6) => option::of((any::<u8>(), option::of(any::<u8>())))
            .prop_map(|icmp| {
                let range =
                    |(icmp_type, code)| IcmpRange { first_type: icmp_type, last_type: icmp_type, code };
                Fields { icmp: icmp.map(range).into_iter().collect(), ..Fields::default() }
            })
            .boxed(),
        _ => Just(Fields::default()).boxed(),
    }
}

/// The IP header and what is before it.
fn lower(is_v4: Option<bool>) -> impl Strategy<Value = Fields> {
    let version = is_v4.map(|is_v4| if is_v4 { IpVersion::V4 } else { IpVersion::V6 });
    let fragment = select(vec![FragmentPart::First, FragmentPart::Later, FragmentPart::Any]);
    (
        prefixes(is_v4),
        prefixes(is_v4),
        any::<bool>(),
        vec(0..4096_u16, 0..3),
        option::of(fragment),
        option::of(range()),
    )
        .prop_map(move |(sources, destinations, says_version, vlan_ids, fragment, length)| Fields {
            sources,
            destinations,
            ip_version: version.filter(|_| says_version),
            vlan_ids,
            fragment,
            length: length.map(|(first, last)| LengthRange { first, last }),
            ..Fields::default()
        })
}

fn range() -> impl Strategy<Value = (u16, u16)> {
    (any::<u16>(), any::<u16>()).prop_map(|(one, other)| (one.min(other), one.max(other)))
}

fn ports() -> impl Strategy<Value = PortRange> {
    range().prop_map(|(first, last)| PortRange { first, last })
}

fn flags() -> impl Strategy<Value = TcpFlags> {
    (any::<u8>(), any::<u8>())
        .prop_map(|(set, unset)| TcpFlags { set, unset: unset & !set })
        .prop_filter("no flag at all is refused", |flags| flags.set | flags.unset != 0)
}

fn v4() -> impl Strategy<Value = IpNet> {
    (any::<u32>(), 0..=32_u8)
        .prop_map(|(bits, length)| IpNet::V4(Ipv4Net::new(Ipv4Addr::from(bits), length).unwrap().trunc()))
}

fn v6() -> impl Strategy<Value = IpNet> {
    let net = (any::<u128>(), 0..=128_u8)
        .prop_map(|(bits, length)| IpNet::V6(Ipv6Net::new(Ipv6Addr::from(bits), length).unwrap().trunc()));
    net.prop_filter("mapped forms are refused", |net| match net.addr() {
        IpAddr::V6(address) => address.to_ipv4_mapped().is_none(),
        IpAddr::V4(_) => true,
    })
}

/// Absent: one of each family, so that two such lists always have one in common.
fn prefixes(is_v4: Option<bool>) -> BoxedStrategy<Vec<IpNet>> {
    match is_v4 {
        Some(true) => vec(v4(), 0..4).boxed(),
        Some(false) => vec(v6(), 0..4).boxed(),
        None => prop_oneof![Just(Vec::new()), (v4(), v6()).prop_map(|(one, other)| vec![one, other])].boxed(),
    }
}

fn name() -> impl Strategy<Value = String> {
    "[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?(\\.[a-z0-9]{1,4})?"
}

fn sets() -> impl Strategy<Value = Option<SetReference>> {
    let labels = btree_map("[a-zA-Z]{1,8}", "[a-zA-Z0-9]{0,8}", 1..3)
        .prop_map(|labels| LabelSelector { match_labels: Some(labels), match_expressions: None });
    let names = btree_set(name(), 0..3).prop_map(|names| names.into_iter().collect::<Vec<_>>());
    (names, option::of(labels)).prop_map(|(names, selector)| {
        (!names.is_empty() || selector.is_some()).then_some(SetReference { names, selector })
    })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Drop),
        Just(Action::Pass),
        Just(Action::Count),
        rate_limit().prop_map(Action::RateLimit),
        mark().prop_map(Action::Mark),
        steer().prop_map(Action::Steer),
        name().prop_map(Action::Socket),
    ]
}

fn rate_limit() -> impl Strategy<Value = RateLimit> {
    let largest = i64::MAX.unsigned_abs();
    let prefix = (1..=32_u8, 1..=128_u8).prop_map(|(v4, v6)| SourcePrefix { v4, v6 });
    let unit = select(vec![RateUnit::Packets, RateUnit::Bits]);
    (1..=largest, unit, 1..=largest, option::of(prefix))
        .prop_map(|(rate, unit, burst, per_source)| RateLimit { rate, unit, burst, per_source })
}

fn mark() -> impl Strategy<Value = Mark> {
    let either = prop_oneof![
        Just((None, None)),
        any::<u32>().prop_map(|priority| (Some(priority), None)),
        (0x1_0000..=u32::MAX).prop_map(|class| (None, Some(class))),
    ];
    (option::of(any::<u32>()), either)
        .prop_map(|(mark, (priority, class))| Mark { mark, priority, class })
        .prop_filter("a mark changes something", |mark| *mark != Mark::default())
}

fn steer() -> impl Strategy<Value = Steer> {
    let algorithms = vec![SteerAlgorithm::FlowHash, SteerAlgorithm::SourceHash, SteerAlgorithm::RoundRobin];
    (btree_set(0..4096_u32, 1..5), select(algorithms), 1..=16384_u32).prop_map(
        |(cpus, algorithm, queue_size)| Steer { cpus: cpus.into_iter().collect(), algorithm, queue_size },
    )
}

fn failsafe() -> impl Strategy<Value = Failsafe> {
    let with_sources = |service: &Service| !matches!(service, Service::Arp | Service::LinkControl);
    let narrowed: Vec<Service> = Service::ALL.iter().copied().filter(with_sources).collect();
    let narrowed = btree_map(select(narrowed), vec(v4(), 1..3).prop_map(ServiceChange::Sources), 0..3);
    let disabled = btree_map(select(Service::ALL.to_vec()), Just(ServiceChange::Disabled), 0..3);
    let extra = (select(vec![TCP, UDP, SCTP]), vec(ports(), 0..3), prefixes(None)).prop_map(
        |(protocol, destination_ports, sources)| Fields {
            protocol: Some(protocol),
            destination_ports,
            sources,
            ..Fields::default()
        },
    );
    (narrowed, disabled, vec(extra, 0..3)).prop_map(|(narrowed, disabled, extra)| {
        let services: BTreeMap<Service, ServiceChange> = narrowed.into_iter().chain(disabled).collect();
        Failsafe { services, extra }
    })
}
