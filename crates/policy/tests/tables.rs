//! The tables decide as the reference evaluator does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use rstest::rstest;
use sluice_ebpf_common::{FIELD_DESTINATION_PORT, FIELD_PROTOCOL, MAX_RULES, Tables};
use sluice_policy::reference::{NoSets, Packet, Unlimited, evaluate};
use sluice_policy::{Action, Enforcement, Fields, InterfacePlan, Matcher, Mode, PlannedRule, PortRange};

fn plan(rules: Vec<(Action, Option<u8>, Vec<PortRange>)>) -> InterfacePlan {
    let policy_end = rules.len();
    let rules =
        rules.into_iter().enumerate().map(|(index, (action, protocol, destination_ports))| PlannedRule {
            policy: "p".to_owned(),
            rule: format!("r{index}"),
            enforcement: Enforcement::Enforce,
            policy_end,
            action,
            matcher: Matcher {
                fields: Fields { protocol, destination_ports, ..Fields::default() },
                not: None,
            },
        });
    InterfacePlan {
        ifindex: 1,
        name: "eth0".to_owned(),
        mode: Mode::Auto,
        policies: vec!["p".to_owned()],
        rules: rules.collect(),
        matched_by: "name eth0".to_owned(),
    }
}

#[derive(Clone, Copy, Debug)]
struct PacketFields {
    protocol: Option<u8>,
    destination_port: Option<u16>,
}

#[derive(Debug, PartialEq)]
struct Verdict {
    decided_by: Option<usize>,
    /// Rules that count and go on.
    counted_by: Vec<usize>,
}

fn judge(rules: &[PlannedRule], packet: PacketFields) -> Verdict {
    let PacketFields { protocol, destination_port } = packet;
    let packet = Packet { protocol, destination_port, ..Packet::default() };
    let verdict = evaluate(rules, &NoSets, &mut Unlimited, &packet);
    let decided_by = verdict.decided_by;
    let counted_by = verdict.counted.into_iter().filter(|index| Some(*index) != decided_by).collect();
    Verdict { decided_by, counted_by }
}

/// What a program does with the tables.
fn look_up(tables: &Tables, packet: PacketFields) -> Verdict {
    let mut vector = tables.drop | tables.pass | tables.count;
    if tables.fields & FIELD_PROTOCOL != 0 {
        vector &=
            packet.protocol.map_or(tables.protocol_unknown, |number| tables.protocol[usize::from(number)]);
    }
    if tables.fields & FIELD_DESTINATION_PORT != 0 {
        vector &= packet.destination_port.map_or(tables.destination_port_unknown, |port| {
            tables.destination_port[usize::from(tables.destination_port_class[usize::from(port)])]
        });
    }
    let terminal = vector & (tables.drop | tables.pass);
    let decided_by = (terminal != 0).then(|| terminal.trailing_zeros() as usize);
    let before = |index: &usize| decided_by.is_none_or(|decided_by| *index < decided_by);
    let counted = (0..MAX_RULES).filter(|index| vector & tables.count & 1 << index != 0);
    Verdict { decided_by, counted_by: counted.filter(before).collect() }
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![0..20_u16, Just(u16::MAX), any::<u16>()]
}

fn rule() -> impl Strategy<Value = (Action, Option<u8>, Vec<PortRange>)> {
    let action = prop_oneof![Just(Action::Drop), Just(Action::Pass), Just(Action::Count)];
    let range = (port(), port()).prop_map(|(a, b)| PortRange { first: a.min(b), last: a.max(b) });
    let protocol = prop::option::of(prop_oneof![Just(6_u8), Just(17), any::<u8>()]);
    (action, protocol, prop::collection::vec(range, 0..3))
}

fn packet() -> impl Strategy<Value = PacketFields> {
    let protocol = prop::option::of(prop_oneof![Just(6_u8), Just(17), any::<u8>()]);
    (protocol, prop::option::of(port()))
        .prop_map(|(protocol, destination_port)| PacketFields { protocol, destination_port })
}

proptest! {
    #[test]
    fn tables_decide_as_the_reference(
        rules in prop::collection::vec(rule(), 0..=MAX_RULES),
        packets in prop::collection::vec(packet(), 32),
    ) {
        let plan = plan(rules);
        let tables = plan.tables(&vec![0; plan.rules.len()]);
        for packet in packets {
            prop_assert_eq!(look_up(&tables, packet), judge(&plan.rules, packet), "{:?}", packet);
        }
    }
}

const NINE: PortRange = PortRange { first: 9, last: 9 };

#[test]
fn only_fields_that_a_rule_reads_are_marked() {
    let fields = |rules: Vec<_>| {
        let slots = vec![0; rules.len()];
        plan(rules).tables(&slots).fields
    };
    assert_eq!(fields(vec![]), 0);
    assert_eq!(fields(vec![(Action::Pass, None, vec![])]), 0);
    assert_eq!(fields(vec![(Action::Drop, Some(6), vec![])]), FIELD_PROTOCOL);
    assert_eq!(fields(vec![(Action::Drop, Some(6), vec![NINE])]), FIELD_PROTOCOL | FIELD_DESTINATION_PORT);
}

#[test]
fn no_rules_are_the_empty_tables() {
    assert_eq!(*plan(vec![]).tables(&[]), Tables::EMPTY);
}

#[test]
fn slots_follow_the_rules() {
    let rules = vec![(Action::Count, Some(6), vec![]), (Action::Drop, Some(17), vec![NINE])];
    let tables = plan(rules).tables(&[7, 1023]);
    assert_eq!(tables.rule_slot[..3], [7, 1023, 0]);
}

/// Rule i takes the ports with bit i set, so that no two of the first 300 ports are in one class.
fn too_many_classes() -> Vec<(Action, Option<u8>, Vec<PortRange>)> {
    let ports = |bit: u32| (0..300_u16).filter(move |port| port & (1 << bit) != 0);
    let ranges = |bit| ports(bit).map(|port| PortRange { first: port, last: port }).collect();
    (0..9).map(|bit| (Action::Count, Some(17), ranges(bit))).collect()
}

#[rstest]
#[case::a_rule_without_a_slot(vec![(Action::Drop, Some(6), vec![]); 2], vec![1], "its own counter slot")]
#[case::a_slot_without_a_rule(vec![(Action::Drop, Some(6), vec![])], vec![1, 2], "its own counter slot")]
#[case::a_slot_without_a_counter(vec![(Action::Drop, Some(6), vec![])], vec![1024], "no counter")]
#[case::too_many_rules(vec![(Action::Drop, Some(6), vec![]); 65], (0..65).collect(), "65 rules")]
#[case::too_many_classes(too_many_classes(), (0..9).collect(), "300 port classes")]
fn tables_that_would_judge_wrongly_are_not_made(
    #[case] rules: Vec<(Action, Option<u8>, Vec<PortRange>)>,
    #[case] slots: Vec<u16>,
    #[case] complaint: &str,
) {
    let stopped = std::panic::catch_unwind(|| plan(rules).tables(&slots)).unwrap_err();
    let said = stopped.downcast_ref::<String>().unwrap();
    assert!(said.contains(complaint), "{said}");
}

#[test]
fn pol_01_ranges_include_both_ends() {
    let range = |first, last| vec![PortRange { first, last }];
    let rules = [range(100, 200), range(65535, 65535), range(0, 0)];
    let rules = rules.into_iter().map(|ports| (Action::Drop, Some(17), ports)).collect();
    let tables = plan(rules).tables(&[0, 1, 2]);
    let by_port = [
        (99, None),
        (100, Some(0)),
        (200, Some(0)),
        (201, None),
        (65535, Some(1)),
        (65534, None),
        (0, Some(2)),
    ];
    for (port, decided_by) in by_port {
        let packet = PacketFields { protocol: Some(17), destination_port: Some(port) };
        assert_eq!(look_up(&tables, packet).decided_by, decided_by, "port {port}");
    }
    let without_port = PacketFields { protocol: Some(17), destination_port: None };
    assert_eq!(look_up(&tables, without_port).decided_by, None, "a later fragment has no ports");
}

#[test]
fn the_digest_names_the_rules_and_nothing_else() {
    let rules = vec![(Action::Drop, Some(17), vec![NINE]), (Action::Pass, None, vec![])];
    let plan = plan(rules);
    // Pinned in the kernel under this name: another digest for the same rules would swap every program.
    assert_eq!(plan.digest(), "4aad07ac61fad8e1");
    let elsewhere = InterfacePlan { ifindex: 9, name: "eth9".to_owned(), mode: Mode::Native, ..plan.clone() };
    assert_eq!(elsewhere.digest(), plan.digest());
    let mut changed = plan.clone();
    changed.rules.swap(0, 1);
    assert_ne!(changed.digest(), plan.digest());
    let mut changed = plan.clone();
    changed.rules[0].matcher.fields.destination_ports[0].last = 10;
    assert_ne!(changed.digest(), plan.digest());
    let mut changed = plan.clone();
    changed.rules[1].action = Action::Count;
    assert_ne!(changed.digest(), plan.digest());
}
