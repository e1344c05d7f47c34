//! What rules mean: three answers to a field, what goes on, what ends a policy.

use std::collections::BTreeMap;

use rstest::rstest;
use sluice_policy::reference::{
    Decision, Exhausted, FragmentPlace, Marks, NoSets, Packet, TokenBuckets, Unlimited, Verdict, evaluate,
    matches,
};
use sluice_policy::{
    Action, Enforcement, Fields, FragmentPart, FrameKind, LengthRange, Mark, Matcher, PlannedRule, PortRange,
    RateLimit, RateUnit, SetReference, SourcePrefix, Steer, TcpFlags,
};

type Sets = BTreeMap<String, Vec<ipnet::IpNet>>;

fn udp(port: u16) -> Packet {
    Packet {
        frame_length: 1000,
        ether_type: Some(0x0800),
        l3_length: Some(986),
        source: Some("192.0.2.10".parse().unwrap()),
        protocol: Some(17),
        fragment: Some(FragmentPlace::Whole),
        destination_port: Some(port),
        ..Packet::default()
    }
}

fn later() -> Packet {
    Packet { fragment: Some(FragmentPlace::Later), destination_port: None, ..udp(0) }
}

fn to_port(port: u16) -> Fields {
    let destination_ports = vec![PortRange { first: port, last: port }];
    Fields { protocol: Some(17), destination_ports, ..Fields::default() }
}

fn rule(policy: &str, fields: Fields, action: Action) -> PlannedRule {
    PlannedRule {
        policy: policy.to_owned(),
        rule: "r".to_owned(),
        action,
        matcher: Matcher { fields, not: None },
        enforcement: Enforcement::Enforce,
        policy_end: 0, // The reference tells policies apart by their names.
    }
}

fn dry(rule: PlannedRule) -> PlannedRule {
    PlannedRule { enforcement: Enforcement::DryRun, ..rule }
}

fn limit(rate: u64, burst: u64, unit: RateUnit) -> RateLimit {
    RateLimit { rate, unit, burst, per_source: None }
}

fn judge(rules: &[PlannedRule], packet: &Packet) -> Verdict {
    evaluate(rules, &NoSets, &mut Unlimited, packet)
}

/// R4: the fields of `not` are one conjunction, and it must be certainly false.
#[rstest]
#[case::another_port(to_port(9), udp(10), true)]
#[case::that_port(to_port(9), udp(9), false)]
#[case::unknown_port(to_port(9), later(), false)]
#[case::one_known_misfit_is_enough(Fields { protocol: Some(6), ..to_port(9) }, later(), true)]
#[case::nothing_known(to_port(9), Packet::default(), false)]
#[case::nothing_wanted(Fields::default(), udp(9), false)]
fn not_matches_what_is_certain(#[case] not: Fields, #[case] packet: Packet, #[case] expected: bool) {
    let matcher = Matcher { fields: Fields::default(), not: Some(not) };
    assert_eq!(matches(&matcher, &packet, &NoSets), expected);
}

#[test]
fn a_set_holds_what_one_of_its_names_holds() {
    let sets: Sets = [
        ("bad".to_owned(), vec!["192.0.2.0/24".parse().unwrap()]),
        ("empty".to_owned(), vec![]),
        ("six".to_owned(), vec!["::/0".parse().unwrap()]),
    ]
    .into();
    let of = |names: &[&str], packet: &Packet, is_not: bool| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let source_sets = Some(SetReference { names, selector: None });
        let fields = Fields { source_sets, ..Fields::default() };
        let not = is_not.then(|| fields.clone());
        let fields = if is_not { Fields::default() } else { fields };
        matches(&Matcher { fields, not }, packet, &sets)
    };
    assert!(of(&["bad"], &udp(9), false));
    assert!(of(&["empty", "bad"], &udp(9), false));
    for names in [&["empty"][..], &["absent"], &["six"], &[]] {
        assert!(!of(names, &udp(9), false), "{names:?}");
        assert!(of(names, &udp(9), true), "known, and not in {names:?}");
        assert!(!of(names, &Packet::default(), true), "unknown");
    }
}

#[test]
fn flags_that_are_not_named_are_free() {
    let of = |set, unset, byte| {
        let fields = Fields { tcp_flags: Some(TcpFlags { set, unset }), ..Fields::default() };
        let packet = Packet { tcp_flags: byte, ..Packet::default() };
        matches(&Matcher { fields, not: None }, &packet, &NoSets)
    };
    assert!(of(0b10, 0b1_0000, Some(0b1100_0010)));
    assert!(!of(0b10, 0b1_0000, Some(0b1_0010)));
    assert!(!of(0b11, 0, Some(0b10)));
    assert!(!of(0, 0b1, None));
}

#[rstest]
#[case::whole(FragmentPlace::Whole, [false, false, false])]
#[case::first(FragmentPlace::First, [true, false, true])]
#[case::later(FragmentPlace::Later, [false, true, true])]
fn any_fragment_is_first_or_later(#[case] place: FragmentPlace, #[case] expected: [bool; 3]) {
    let packet = Packet { fragment: Some(place), ..Packet::default() };
    let fits = [FragmentPart::First, FragmentPart::Later, FragmentPart::Any].map(|part| {
        let fields = Fields { fragment: Some(part), ..Fields::default() };
        matches(&Matcher { fields, not: None }, &packet, &NoSets)
    });
    assert_eq!(fits, expected);
}

#[test]
fn a_length_beyond_65535_is_in_no_range() {
    let range = LengthRange { first: 0, last: u16::MAX };
    let fields = Fields { length: Some(range), ..Fields::default() };
    let of = |matcher: &Matcher, length| {
        matches(matcher, &Packet { l3_length: Some(length), ..Packet::default() }, &NoSets)
    };
    let plain = Matcher { fields: fields.clone(), not: None };
    let negated = Matcher { fields: Fields::default(), not: Some(fields) };
    assert!(of(&plain, 65_535) && !of(&plain, 65_536));
    assert!(!of(&negated, 65_535) && of(&negated, 65_536));
}

#[rstest]
#[case::arp(0x0806, 2, [true, false])]
#[case::lacp(0x8809, 2, [false, true])]
#[case::spanning_tree(38, 0, [false, true])]
#[case::last_address(0x88cc, 0x0f, [false, true])]
#[case::address_behind(0x88cc, 0x10, [false, false])]
#[case::ip_to_such_an_address(0x0800, 0, [false, false])]
#[case::what_is_in_a_third_tag_is_unknown(0x8100, 0, [false, false])]
fn frames_that_are_not_ip(#[case] ether_type: u16, #[case] last: u8, #[case] expected: [bool; 2]) {
    let destination_mac = Some([0x01, 0x80, 0xc2, 0, 0, last]);
    let packet = Packet { ether_type: Some(ether_type), destination_mac, ..Packet::default() };
    let fits = [FrameKind::Arp, FrameKind::LinkControl].map(|kind| {
        let fields = Fields { frame: Some(kind), ..Fields::default() };
        matches(&Matcher { fields, not: None }, &packet, &NoSets)
    });
    assert_eq!(fits, expected);
}

#[test]
fn the_first_rule_that_decides_ends_the_search() {
    let steer = Steer { cpus: vec![1], algorithm: sluice_api::SteerAlgorithm::FlowHash, queue_size: 1 };
    let actions = [
        (Action::Drop, Decision::Drop),
        (Action::Pass, Decision::Pass),
        (Action::Steer(steer), Decision::Steer),
        (Action::Socket("fast".to_owned()), Decision::Socket),
    ];
    for (action, decision) in actions {
        let rules = [
            rule("p", to_port(9), Action::Count),
            rule("p", to_port(10), Action::Drop),
            rule("p", to_port(9), action),
            rule("p", to_port(9), Action::Count),
        ];
        let verdict = judge(&rules, &udp(9));
        assert_eq!((verdict.decision, verdict.decided_by), (decision, Some(2)));
        assert_eq!(verdict.counted, [0, 2]);
    }
    assert_eq!(judge(&[], &udp(9)), Verdict::default());
}

#[test]
fn a_dry_run_policy_counts_and_changes_nothing() {
    let mark = |mark| Action::Mark(Mark { mark: Some(mark), ..Mark::default() });
    let rules = [
        rule("a", to_port(9), mark(1)),
        dry(rule("b", to_port(9), mark(2))),
        dry(rule("b", Fields::default(), Action::Drop)),
        dry(rule("b", Fields::default(), Action::Count)),
        dry(rule("c", Fields::default(), Action::RateLimit(limit(1, 1, RateUnit::Packets)))),
        dry(rule("c", Fields::default(), Action::Count)),
        rule("d", Fields::default(), Action::Count),
    ];
    let verdict = judge(&rules, &udp(9));
    assert_eq!((verdict.decision, verdict.decided_by), (Decision::Pass, None));
    assert_eq!(verdict.counted, [0, 1, 2, 4, 5, 6]);
    assert_eq!(verdict.mark, Some(Marks { mark: Some(1), priority: None }));
    let verdict = evaluate(&rules, &NoSets, &mut Exhausted, &udp(9));
    assert_eq!((verdict.decision, verdict.counted), (Decision::Pass, vec![0, 1, 2, 4, 6]));
    assert_eq!(verdict.exceeded, [4]);
}

#[test]
fn a_later_mark_overrides_the_fields_that_it_gives() {
    let class = Action::Mark(Mark { mark: Some(1), class: Some(0x10010), ..Mark::default() });
    let priority = Action::Mark(Mark { priority: Some(6), ..Mark::default() });
    let pass = || rule("p", Fields::default(), Action::Pass);
    let rules =
        [rule("p", Fields::default(), class.clone()), rule("p", Fields::default(), priority.clone()), pass()];
    let verdict = judge(&rules, &udp(9));
    assert_eq!(verdict.mark, Some(Marks { mark: Some(1), priority: Some(6) }));
    let rules = [rule("p", Fields::default(), priority), rule("p", Fields::default(), class)];
    assert_eq!(judge(&rules, &udp(9)).mark, Some(Marks { mark: Some(1), priority: Some(0x10010) }));
    let dropped = [rules[0].clone(), rule("p", Fields::default(), Action::Drop)];
    assert_eq!(judge(&dropped, &udp(9)).mark, None);
}

/// POL-13: 100 packets within the limit fall to what follows, and are counted.
#[test]
fn pol_13_a_rate_limit_is_no_allow_rule() {
    let per_source = Some(SourcePrefix { v4: 32, v6: 64 });
    let limit = RateLimit { per_source, ..limit(10_000, 1_000, RateUnit::Packets) };
    let limiter = rule("p", to_port(27015), Action::RateLimit(limit));
    let default_drop = rule("p", Fields::default(), Action::Drop);
    let count = |rules: &[PlannedRule], packets: u64| {
        let mut buckets = TokenBuckets::default();
        let mut passed = 0;
        let mut exceeded = 0;
        for packet in 0..packets {
            buckets.now = packet * 1_000_000_000 / packets;
            let verdict = evaluate(rules, &NoSets, &mut buckets, &udp(27015));
            assert_eq!(verdict.counted.first(), Some(&0));
            passed += u64::from(verdict.decision == Decision::Pass);
            exceeded += u64::from(!verdict.exceeded.is_empty());
        }
        (passed, exceeded)
    };
    assert_eq!(count(&[limiter.clone(), default_drop.clone()], 100), (0, 0));
    let fixed = [limiter, rule("p", to_port(27015), Action::Pass), default_drop];
    assert_eq!(count(&fixed, 100), (100, 0));
    let (passed, exceeded) = count(&fixed, 20_000);
    assert_eq!(passed + exceeded, 20_000);
    assert!((10_990..=11_000).contains(&passed), "10000 and a burst of 1000: {passed}");
}

/// POL-14: an IPv6 /64 shares one bucket, and the source port does not matter.
#[test]
fn pol_14_sources_of_one_prefix_share_a_bucket() {
    let per_source = Some(SourcePrefix { v4: 32, v6: 64 });
    let limit = RateLimit { per_source, ..limit(1, 1, RateUnit::Packets) };
    let rules = [rule("p", Fields::default(), Action::RateLimit(limit))];
    let mut buckets = TokenBuckets::default();
    let mut within = |source: Option<&str>, source_port| {
        let source = source.map(|address| address.parse().unwrap());
        let packet = Packet { source, source_port, ..udp(9) };
        evaluate(&rules, &NoSets, &mut buckets, &packet).exceeded.is_empty()
    };
    assert!(within(Some("2001:db8::1"), Some(1)));
    assert!(!within(Some("2001:db8::ffff:2"), Some(2)));
    assert!(within(Some("2001:db8:0:1::1"), Some(1)));
    assert!(within(Some("192.0.2.1"), None) && within(Some("192.0.2.2"), None));
    assert!(!within(Some("192.0.2.1"), None));
    assert!(within(None, None) && within(None, None), "no source, no bucket, no drop");
}

#[test]
fn a_bit_rate_counts_whole_frames() {
    let rules = [rule("p", Fields::default(), Action::RateLimit(limit(8_000, 16_000, RateUnit::Bits)))];
    let mut buckets = TokenBuckets::default();
    let mut exceeded = |seconds: u64| {
        buckets.now = seconds * 1_000_000_000;
        !evaluate(&rules, &NoSets, &mut buckets, &udp(9)).exceeded.is_empty()
    };
    let seen: Vec<bool> = [0, 0, 0, 1, 1, 10, 10, 10].map(&mut exceeded).to_vec();
    assert_eq!(seen, [false, false, true, false, true, false, false, true]);
}

/// Such a packet would never pass otherwise; and it is paid for.
#[test]
fn a_full_bucket_takes_a_packet_that_is_larger_than_the_burst() {
    let rules = [rule("p", Fields::default(), Action::RateLimit(limit(8_000, 4_000, RateUnit::Bits)))];
    let mut buckets = TokenBuckets::default();
    let mut exceeded = |milliseconds: u64| {
        buckets.now = milliseconds * 1_000_000;
        !evaluate(&rules, &NoSets, &mut buckets, &udp(9)).exceeded.is_empty()
    };
    let seen: Vec<bool> = [0, 0, 500, 999, 1000, 1001, 5000].map(&mut exceeded).to_vec();
    assert_eq!(seen, [false, true, true, true, false, true, false]);
}
