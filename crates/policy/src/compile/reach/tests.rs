//! Coverage is held to the reference evaluator: a rule that is called unreached must never be asked.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use proptest::prelude::*;
use proptest::sample::select;
use rstest::rstest;

use super::*;
use crate::reference::{FragmentPlace, Packet, Unlimited, evaluate, matches};
use crate::{
    Action, Fields, FragmentPart, IcmpRange, IpVersion, LengthRange, Matcher, PortRange, SetReference,
    TcpFlags,
};

fn planned(
    policy: &str,
    enforcement: Enforcement,
    policy_end: usize,
    matcher: Matcher,
    action: Action,
) -> PlannedRule {
    PlannedRule { policy: policy.to_owned(), rule: "r".to_owned(), enforcement, policy_end, action, matcher }
}

fn drops(matchers: Vec<Matcher>) -> Vec<PlannedRule> {
    let end = matchers.len();
    let drop = |matcher| planned("p", Enforcement::Enforce, end, matcher, Action::Drop);
    matchers.into_iter().map(drop).collect()
}

fn prefixes(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn sets(names: &[&str]) -> SetReference {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    SetReference { names, selector: None }
}

fn ports(first: u16, last: u16) -> Vec<PortRange> {
    vec![PortRange { first, last }]
}

fn tcp(destination_ports: Vec<PortRange>) -> Fields {
    Fields { protocol: Some(6), destination_ports, ..Fields::default() }
}

fn from(texts: &[&str]) -> Fields {
    Fields { sources: prefixes(texts), ..Fields::default() }
}

fn flags(set: u8, unset: u8) -> Fields {
    Fields { tcp_flags: Some(TcpFlags { set, unset }), ..tcp(vec![]) }
}

fn part(part: FragmentPart) -> Fields {
    Fields { fragment: Some(part), ..Fields::default() }
}

fn of_sets(names: &[&str]) -> Fields {
    Fields { source_sets: Some(sets(names)), ..Fields::default() }
}

fn version(version: IpVersion) -> Fields {
    Fields { ip_version: Some(version), ..Fields::default() }
}

fn icmp(first_type: u8, last_type: u8, code: Option<u8>) -> Fields {
    Fields { protocol: Some(1), icmp: vec![IcmpRange { first_type, last_type, code }], ..Fields::default() }
}

fn except(fields: Fields, not: Fields) -> Matcher {
    Matcher { fields, not: Some(not) }
}

fn plain(fields: Fields) -> Matcher {
    Matcher { fields, not: None }
}

const EVERY_V4: &str = "0.0.0.0/0";

#[rstest]
#[case::everything(vec![Fields::default()], tcp(vec![]), Some(vec![0]))]
#[case::ports_together(vec![tcp(ports(1, 100)), tcp(ports(101, 200))], tcp(ports(1, 200)), Some(vec![0, 1]))]
#[case::ports_with_a_gap(vec![tcp(ports(1, 99)), tcp(ports(101, 200))], tcp(ports(1, 200)), None)]
#[case::no_port_may_be_unknown(vec![tcp(ports(0, 65535))], tcp(vec![]), None)]
#[case::two_halves(vec![from(&["0.0.0.0/1"]), from(&["128.0.0.0/1"])], from(&[EVERY_V4]), Some(vec![0, 1]))]
#[case::one_half(vec![from(&["0.0.0.0/1"])], from(&[EVERY_V4]), None)]
#[case::families_are_apart(vec![from(&["::/0"])], from(&["192.0.2.0/24"]), None)]
#[case::prefixes_say_the_version(vec![version(IpVersion::V4)], from(&["192.0.2.0/24"]), Some(vec![0]))]
#[case::not_of_both_families(vec![version(IpVersion::V4)], from(&["192.0.2.0/24", "::/0"]), None)]
#[case::two_fields_are_not_tried(
    vec![Fields { sources: prefixes(&["0.0.0.0/1"]), ..tcp(ports(1, 9)) }, tcp(ports(10, 20))],
    Fields { sources: prefixes(&[EVERY_V4]), ..tcp(ports(1, 20)) },
    None
)]
#[case::sets_by_name(vec![of_sets(&["a", "b"])], of_sets(&["b"]), Some(vec![0]))]
#[case::sets_together(vec![of_sets(&["a"]), of_sets(&["b"])], of_sets(&["a", "b"]), Some(vec![0, 1]))]
#[case::what_sets_hold_may_change(vec![from(&["10.0.0.0/8"])], of_sets(&["a"]), None)]
#[case::an_empty_set_is_another_matter(vec![Fields::default()], of_sets(&[]), None)]
#[case::fewer_flags(vec![flags(2, 0)], flags(2, 16), Some(vec![0]))]
#[case::more_flags(vec![flags(2, 16)], flags(2, 0), None)]
#[case::flags_together(vec![flags(2, 16), flags(18, 0)], flags(2, 0), Some(vec![0, 1]))]
#[case::flags_may_be_unknown(vec![flags(0, 0)], tcp(vec![]), None)]
#[case::any_fragment(vec![part(FragmentPart::Any)], part(FragmentPart::Later), Some(vec![0]))]
#[case::fragments_together(
    vec![part(FragmentPart::First), part(FragmentPart::Later)],
    part(FragmentPart::Any),
    Some(vec![0, 1])
)]
#[case::icmp_of_any_code(vec![icmp(0, 20, None)], icmp(8, 8, Some(0)), Some(vec![0]))]
#[case::icmp_of_one_code(vec![icmp(0, 20, Some(0))], icmp(8, 8, None), None)]
fn fields(#[case] earlier: Vec<Fields>, #[case] later: Fields, #[case] deciders: Option<Vec<usize>>) {
    let matchers = earlier.into_iter().chain([later]).map(plain).collect();
    let rules = drops(matchers);
    let last = rules.len() - 1;
    let found = Reach::new(&rules).unreached().into_iter().find(|(index, _)| *index == last);
    assert_eq!(found.map(|(_, deciders)| deciders), deciders);
}

#[rstest]
#[case::same(except(tcp(vec![]), from(&["10.0.0.0/8"])), except(tcp(vec![]), from(&["10.0.0.0/8"])), true)]
#[case::excepts_less(except(tcp(vec![]), from(&["10.1.0.0/16"])), except(tcp(vec![]), from(&["10.0.0.0/8"])), true)]
#[case::excepts_more(except(tcp(vec![]), from(&["10.0.0.0/8"])), except(tcp(vec![]), from(&["10.1.0.0/16"])), false)]
#[case::is_elsewhere(except(Fields::default(), from(&["10.0.0.0/8"])), plain(from(&["192.0.2.0/24"])), true)]
#[case::is_not_elsewhere(except(Fields::default(), from(&["10.0.0.0/8"])), plain(tcp(vec![])), false)]
#[case::sets_may_share_addresses(except(Fields::default(), of_sets(&["a"])), plain(of_sets(&["b"])), false)]
#[case::the_later_may_except_what_it_likes(plain(tcp(vec![])), except(tcp(vec![]), from(&["10.0.0.0/8"])), true)]
fn exceptions(#[case] earlier: Matcher, #[case] later: Matcher, #[case] is_unreached: bool) {
    let rules = drops(vec![earlier, later]);
    assert_eq!(Reach::new(&rules).unreached().len(), usize::from(is_unreached));
}

#[rstest]
#[case::enforced_ends_all(Enforcement::Enforce, Enforcement::Enforce, vec![1, 2])]
#[case::a_dry_run_ends_itself(Enforcement::DryRun, Enforcement::Enforce, vec![1])]
#[case::enforced_ends_a_dry_run_too(Enforcement::Enforce, Enforcement::DryRun, vec![1, 2])]
fn dry_runs(#[case] first: Enforcement, #[case] second: Enforcement, #[case] unreached: Vec<usize>) {
    let all = || plain(tcp(vec![]));
    let rules = vec![
        planned("a", first, 2, all(), Action::Drop),
        planned("a", first, 2, all(), Action::Pass),
        planned("b", second, 3, all(), Action::Drop),
    ];
    let found: Vec<usize> = Reach::new(&rules).unreached().into_iter().map(|(index, _)| index).collect();
    assert_eq!(found, unreached);
}

/// Few values of each field, so that random rules often cover each other and random packets often match.
fn values() -> impl Strategy<Value = Fields> {
    let port = || {
        prop::collection::vec(
            (0..4_u16, 0..3_u16).prop_map(|(first, more)| PortRange { first, last: first + more }),
            0..3,
        )
    };
    let texts =
        ["0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "10.0.0.0/8", "10.1.0.0/16", "::/0", "::/1", "8000::/1"];
    let prefix = move || {
        prop::collection::vec(select(texts.to_vec()).prop_map(|text| text.parse::<IpNet>().unwrap()), 0..3)
    };
    let set = prop::option::weighted(0.2, select(vec![vec!["a"], vec!["b"], vec!["a", "b"], vec![]]));
    let flag = prop::option::weighted(0.2, (0..4_u8, 0..4_u8));
    let icmp = prop::collection::vec((0..3_u8, 0..2_u8, prop::option::of(0..2_u8)), 0..2);
    let protocol = prop::option::of(select(vec![1_u8, 6]));
    let fragment = prop::option::weighted(
        0.2,
        select(vec![FragmentPart::First, FragmentPart::Later, FragmentPart::Any]),
    );
    let version = prop::option::weighted(0.2, select(vec![IpVersion::V4, IpVersion::V6]));
    let length = prop::option::weighted(0.2, (0..3_u16, 0..3_u16));
    let vlan = prop::collection::vec(0..3_u16, 0..2);
    let rest = (fragment, version, length, vlan);
    (protocol, port(), port(), prefix(), prefix(), set, flag, icmp, rest).prop_map(
        |(protocol, source_ports, destination_ports, sources, destinations, set, flag, icmp, rest)| {
            let (fragment, ip_version, length, vlan_ids) = rest;
            Fields {
                protocol,
                source_ports,
                destination_ports,
                sources,
                destinations,
                source_sets: set.map(|names| sets(&names)),
                destination_sets: None,
                tcp_flags: flag.map(|(set, unset)| TcpFlags { set, unset: unset & !set }),
                icmp: icmp
                    .into_iter()
                    .map(|(first_type, more, code)| IcmpRange {
                        first_type,
                        last_type: first_type + more,
                        code,
                    })
                    .collect(),
                vlan_ids,
                ip_version,
                fragment,
                length: length.map(|(first, more)| LengthRange { first, last: first + more }),
                frame: None,
            }
        },
    )
}

/// A rule that asks for about two fields: with more, hardly any two would meet.
fn sparse() -> impl Strategy<Value = Fields> {
    (values(), any::<u16>(), any::<u16>(), any::<u16>()).prop_map(|(mut fields, one, two, three)| {
        let keep = one & two & three;
        let mut off = |bit: u16, clear: &mut dyn FnMut(&mut Fields)| {
            if keep & 1 << bit == 0 {
                clear(&mut fields);
            }
        };
        off(1, &mut |fields| fields.source_ports.clear());
        off(3, &mut |fields| fields.sources.truncate(1));
        off(4, &mut |fields| fields.destinations.clear());
        off(6, &mut |fields| fields.icmp.clear());
        off(7, &mut |fields| fields.vlan_ids.clear());
        off(8, &mut |fields| fields.length = None);
        fields
    })
}

fn matcher() -> impl Strategy<Value = Matcher> {
    let not = prop::option::weighted(0.3, sparse());
    (sparse(), not).prop_map(|(fields, not)| Matcher { fields, not })
}

/// Two policies, each enforced or not.
fn rules() -> impl Strategy<Value = Vec<PlannedRule>> {
    let action = || select(vec![Action::Drop, Action::Pass, Action::Drop, Action::Count]);
    let policy = move || (any::<bool>(), prop::collection::vec((matcher(), action()), 1..8));
    (policy(), policy()).prop_map(|(first, second)| {
        let mut rules = Vec::new();
        for (name, (is_dry_run, list)) in [("a", first), ("b", second)] {
            let end = rules.len() + list.len();
            let enforcement = if is_dry_run { Enforcement::DryRun } else { Enforcement::Enforce };
            rules.extend(
                list.into_iter().map(|(matcher, action)| planned(name, enforcement, end, matcher, action)),
            );
        }
        rules
    })
}

/// An IP packet of which everything behind the addresses may be unknown.
fn packet() -> impl Strategy<Value = Packet> {
    let address = |is_v4: bool| -> BoxedStrategy<IpAddr> {
        let texts =
            if is_v4 { ["10.1.2.3", "10.2.0.1", "192.0.2.1"] } else { ["::1", "2001:db8::1", "ff02::1"] };
        select(texts.map(|text| text.parse().unwrap()).to_vec()).boxed()
    };
    let place = select(vec![FragmentPlace::Whole, FragmentPlace::First, FragmentPlace::Later]);
    let transport = (
        prop::option::of((0..7_u16, 0..7_u16)),
        prop::option::of(0..8_u8),
        prop::option::of((0..4_u8, 0..3_u8)),
        prop::option::weighted(0.8, select(vec![1_u8, 6, 17])),
    );
    let around = (
        any::<bool>().prop_flat_map(move |is_v4| (Just(is_v4), address(is_v4), address(is_v4))),
        place,
        0..6_usize,
    );
    (around, transport, prop::option::of(0..3_u16)).prop_map(|(around, transport, vlan)| {
        let ((is_v4, source, destination), fragment, length) = around;
        let (ports, tcp_flags, icmp, protocol) = transport;
        Packet {
            vlans: vlan.into_iter().collect(),
            l3_length: Some(length),
            ip_version: Some(if is_v4 { IpVersion::V4 } else { IpVersion::V6 }),
            source: Some(source),
            destination: Some(destination),
            protocol,
            fragment: Some(fragment),
            source_port: ports.map(|(source, _)| source),
            destination_port: ports.map(|(_, destination)| destination),
            tcp_flags,
            icmp,
            ..Packet::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_reaches_a_rule_that_is_called_unreached(
        rules in rules(),
        packets in prop::collection::vec(packet(), 48),
    ) {
        let sets = BTreeMap::from([
            ("a".to_owned(), prefixes(&["10.1.0.0/16", "2001:db8::/32"])),
            ("b".to_owned(), prefixes(&["10.0.0.0/8"])),
        ]);
        for (index, deciders) in Reach::new(&rules).unreached() {
            for packet in &packets {
                let counted = evaluate(&rules, &sets, &mut Unlimited, packet).counted;
                prop_assert!(!counted.contains(&index), "rule {} counted {:?}", index, packet);
                if matches(&rules[index].matcher, packet, &sets) {
                    let decides = |decider: &usize| matches(&rules[*decider].matcher, packet, &sets);
                    prop_assert!(deciders.iter().any(decides), "none of {:?} decides {:?}", deciders, packet);
                }
            }
        }
    }
}

/// Rules that differ in one field only are the slowest: each is tried together with all before it.
#[test]
fn a_thousand_rules_are_compared_quickly() {
    let host = |number: u32| format!("10.{}.{}.0/24", number / 256, number % 256);
    let by_source = |number| Fields { sources: prefixes(&[&host(number)]), ..tcp(ports(80, 90)) };
    let by_port =
        |number: u32| tcp(ports(u16::try_from(number * 2).unwrap(), u16::try_from(number * 2).unwrap()));
    let overlapping =
        |number: u32| tcp(ports(u16::try_from(number).unwrap(), u16::try_from(number + 2000).unwrap()));
    let kinds: [(&str, &dyn Fn(u32) -> Fields); 3] =
        [("by source", &by_source), ("by port", &by_port), ("overlapping", &overlapping)];
    for (kind, fields) in kinds {
        let rules = drops((0..1024).map(|number| plain(fields(number))).collect());
        let start = Instant::now();
        let unreached = Reach::new(&rules).unreached();
        let took = start.elapsed();
        println!("1024 rules {kind}: {took:?}, {} unreached", unreached.len());
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}
