//! The words of an explanation.

use sluice_policy::reference::{NoSets, Packet, Step, Unlimited, dissect, explain};
use sluice_policy::{
    Action, Enforcement, Fields, FragmentPart, IcmpRange, IpVersion, LengthRange, Matcher, PlannedRule,
    PortRange, SetReference, TcpFlags,
};

use crate::cases::case;

fn why(packet: &Packet, matcher: Matcher) -> String {
    let rule = PlannedRule {
        policy: "p".to_owned(),
        rule: "r".to_owned(),
        action: Action::Count,
        matcher,
        enforcement: Enforcement::Enforce,
        policy_end: 1,
    };
    explain(&[rule], &NoSets, &mut Unlimited, packet).rules.remove(0).why
}

fn fields(fields: Fields) -> Matcher {
    Matcher { fields, not: None }
}

fn ports(ranges: &[(u16, u16)]) -> Vec<PortRange> {
    ranges.iter().map(|(first, last)| PortRange { first: *first, last: *last }).collect()
}

fn every_field() -> Vec<(&'static str, Fields)> {
    let none = Fields::default;
    vec![
        ("vlan", Fields { vlan_ids: vec![5, 6], ..none() }),
        ("ipVersion", Fields { ip_version: Some(IpVersion::V6), ..none() }),
        ("protocol", Fields { protocol: Some(89), ..none() }),
        ("sources", Fields { sources: vec!["10.0.0.0/8".parse().unwrap()], ..none() }),
        (
            "sourceSets",
            Fields {
                source_sets: Some(SetReference { names: vec!["bad".into(), "worse".into()], selector: None }),
                ..none()
            },
        ),
        (
            "destinations",
            Fields {
                destinations: (0..6).map(|n| format!("10.{n}.0.0/16").parse().unwrap()).collect(),
                ..none()
            },
        ),
        ("sourcePorts", Fields { source_ports: ports(&[(1, 2), (7, 7)]), ..none() }),
        ("destinationPorts", Fields { destination_ports: ports(&[(80, 80)]), ..none() }),
        ("tcpFlags", Fields { tcp_flags: Some(TcpFlags { set: 3, unset: 16 }), ..none() }),
        ("icmp", Fields { icmp: vec![IcmpRange { first_type: 3, last_type: 3, code: Some(4) }], ..none() }),
        ("fragment", Fields { fragment: Some(FragmentPart::Later), ..none() }),
        ("length", Fields { length: Some(LengthRange { first: 0, last: 20 }), ..none() }),
    ]
}

#[test]
fn each_field_that_does_not_fit() {
    let frames = ["PKT-01", "PKT-32", "PKT-42", "PKT-24", "PKT-06", "PKT-20", "PKT-14", "PKT-27"];
    let mut text = String::new();
    for id in frames {
        let packet = dissect(&case(id).frame());
        text += &format!("{id}\n");
        for (name, wanted) in every_field() {
            text += &format!("  {name}: {}\n", why(&packet, fields(wanted)));
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn what_fits_is_told_in_full() {
    let packet = dissect(&case("PKT-01").frame());
    let wanted = Fields { protocol: Some(17), destination_ports: ports(&[(9, 9)]), ..Fields::default() };
    assert_eq!(why(&packet, fields(wanted)), "protocol is UDP, destination port is 9");
    assert_eq!(why(&packet, fields(Fields::default())), "it takes every packet");
}

#[test]
fn not_in_words() {
    let (whole, later) = (dissect(&case("PKT-01").frame()), dissect(&case("PKT-25").frame()));
    let of = |packet: &Packet, not: Fields| {
        why(packet, Matcher { fields: Fields { protocol: Some(17), ..Fields::default() }, not: Some(not) })
    };
    let nine = || Fields { destination_ports: ports(&[(9, 9)]), ..Fields::default() };
    let eighty = || Fields { destination_ports: ports(&[(80, 80)]), ..Fields::default() };
    insta::assert_snapshot!([of(&whole, eighty()), of(&whole, nine()), of(&later, nine())].join("\n"));
}

#[test]
fn steps_follow_the_verdict() {
    let rule = |policy: &str, action, enforcement| PlannedRule {
        policy: policy.to_owned(),
        rule: "r".to_owned(),
        action,
        matcher: Matcher::default(),
        enforcement,
        policy_end: 0, // The reference tells policies apart by their names.
    };
    let rules = [
        rule("a", Action::Count, Enforcement::Enforce),
        rule("b", Action::Drop, Enforcement::DryRun),
        rule("b", Action::Pass, Enforcement::DryRun),
        rule("c", Action::Pass, Enforcement::Enforce),
        rule("c", Action::Drop, Enforcement::Enforce),
    ];
    let explained = explain(&rules, &NoSets, &mut Unlimited, &dissect(&case("PKT-01").frame()));
    let steps: Vec<Step> = explained.rules.iter().map(|rule| rule.step).collect();
    let expected = [Step::GoesOn, Step::WouldDecide, Step::NotReached, Step::Decides, Step::NotReached];
    assert_eq!(steps, expected);
    assert!(explained.rules.iter().all(|rule| rule.matches));
}
