//! Verdicts of address sets on the loaded program, by the ids of the cases. How sets change under traffic is tested where
//! the data plane changes them.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use rstest::rstest;
use serde_json::json;
use sluice_policy::NodeFacts;
use sluice_testkit::Frame;

use crate::can_load;
use crate::cases::{judge, load, plan_of};
use crate::policies::Sets;
use crate::program::{Machine, Program};

const LISTED: (&str, &str) = ("Drop", "p/listed");
const NOT_LISTED: (&str, &str) = ("Pass", "none");

/// A program that drops what comes from a set with these entries.
fn dropping(machine: &mut Machine, entries: &[&str]) -> Program {
    let entries: Vec<IpNet> = entries.iter().map(|entry| entry.parse().unwrap()).collect();
    let sets = Sets::from([("list".to_owned(), entries)]);
    let rules = json!([{"name": "listed", "match": {"sourceSets": ["list"]}, "action": {"type": "Drop"}}]);
    load(machine, &plan_of(&[("p", &json!({"rules": rules}))], &NodeFacts::default(), &sets), &sets)
}

fn from(address: &str) -> Vec<u8> {
    let ethernet = Frame::ethernet([2; 6], [2; 6]);
    match address.parse().unwrap() {
        IpAddr::V4(source) => ethernet.ipv4(source, Ipv4Addr::new(198, 51, 100, 20)).udp(4000, 9).build(),
        IpAddr::V6(source) => ethernet.ipv6(source, "2001:db8:2::20".parse().unwrap()).udp(4000, 9).build(),
    }
}

#[rstest]
#[case::cidr_01(
    &["192.0.2.0/25", "198.51.100.0/24", "203.0.113.64/26"],
    &["192.0.2.127", "203.0.113.64", "203.0.113.127"],
    &["192.0.2.128", "203.0.113.63", "203.0.113.128"],
)]
#[case::cidr_04(
    &["10.0.0.0/8", "10.1.0.0/16", "192.0.2.1/32", "2001:db8::1/128"],
    &["10.1.2.3", "10.2.0.0", "192.0.2.1", "2001:db8::1"],
    &["192.0.2.0", "192.0.2.2", "2001:db8::2"],
)]
#[case::cidr_08(&["192.0.2.1/32", "::c000:201/128"], &["192.0.2.1", "::192.0.2.1"], &["192.0.2.2", "::192.0.2.2"])]
#[case::cidr_09(&["0.0.0.0/0", "::/0", "192.0.2.0/24"], &["203.0.113.1", "192.0.2.53", "2001:db8::1", "::1"], &[])]
#[case::cidr_10(
    &["203.0.113.64/26", "2001:db8:4880::/48"],
    &["203.0.113.64", "203.0.113.100", "203.0.113.127", "2001:db8:4880:ffff::1"],
    &["203.0.113.128", "2001:db8:4881::1"],
)]
fn sets_hold(#[case] entries: &[&str], #[case] inside: &[&str], #[case] outside: &[&str]) {
    if !can_load() {
        return;
    }
    let program = dropping(&mut Machine::new(), entries);
    for (addresses, expected) in [(inside, LISTED), (outside, NOT_LISTED)] {
        for address in addresses {
            let (verdict, by) = judge(&program, &from(address));
            assert_eq!((verdict, by.as_str()), expected, "from {address}");
        }
    }
}

#[test]
fn cidr_02_an_empty_set_drops_nothing_and_passes_nothing() {
    if !can_load() {
        return;
    }
    let mut machine = Machine::new();
    assert_eq!(judge(&dropping(&mut machine, &[]), &from("192.0.2.1")).0, "Pass");
    let sets = Sets::from([("list".to_owned(), Vec::new())]);
    let rules = json!([{"name": "listed", "match": {"sourceSets": ["list"]}, "action": {"type": "Pass"}}]);
    let spec = json!({"defaultAction": "Drop", "rules": rules});
    let program = load(&mut machine, &plan_of(&[("p", &spec)], &NodeFacts::default(), &sets), &sets);
    assert_eq!(judge(&program, &from("192.0.2.1")), ("Drop", "p/defaultAction".to_owned()));
}

#[test]
fn cidr_09_what_belongs_to_the_failsafe_passes_also_from_a_set_that_holds_all() {
    if !can_load() {
        return;
    }
    let program = dropping(&mut Machine::new(), &["0.0.0.0/0", "::/0"]);
    let ssh = Frame::ethernet([2; 6], [2; 6])
        .ipv4(Ipv4Addr::new(192, 0, 2, 10), Ipv4Addr::new(198, 51, 100, 20))
        .tcp(4000, 22, 2)
        .build();
    assert_eq!(judge(&program, &ssh), ("Pass", "failsafe/ssh".to_owned()));
}
