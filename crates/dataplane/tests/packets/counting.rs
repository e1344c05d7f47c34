//! Every outcome at every small size, every malformed reason under its name, and bytes that are those of
//! the whole frame.

use rstest::rstest;
use sluice_dataplane::instance::{Content, Instance, Varied};
use sluice_ebpf_common::{
    MAX_RULES, Malformed, Outcome,
    prefixes::{PAGE, fixed},
};
use sluice_testkit::{
    Frame,
    rules::{
        Action::{Count, Drop, Pass},
        Rule, compile, read_every_field,
    },
};

use crate::{
    can_load,
    cases::{bytes, case},
    rules::{Counted, load, run, run_on},
};

const UDP: u8 = 17;
const TCP: u8 = 6;
const IPV4_UDP_TO_9: &str = "PKT-01";

fn udp_to_9(length: usize) -> Vec<u8> {
    let mut frame = case(IPV4_UDP_TO_9).frame();
    frame.resize(length, 0);
    frame
}

fn counted(outcome: Outcome, rules: &[usize]) -> Counted {
    Counted { outcome, rules: rules.to_vec(), malformed: None }
}

#[rstest]
fn every_outcome(#[values(42, 59, 60, 61, 64)] length: usize) {
    if !can_load() {
        return;
    }
    let frame = udp_to_9(length);
    let drop = Rule::port(UDP, 9, Drop);
    let other = Rule::port(UDP, 10, Drop);
    assert_eq!(run(&[], &frame), counted(Outcome::PassNoMatch, &[]));
    assert_eq!(run(std::slice::from_ref(&other), &frame), counted(Outcome::PassNoMatch, &[]));
    assert_eq!(run(&[other, drop.clone()], &frame), counted(Outcome::DropRule, &[1]));
    assert_eq!(run(&[Rule::protocol(UDP, Pass), drop.clone()], &frame), counted(Outcome::PassRule, &[0]));
    assert_eq!(run(&[Rule::all(Drop)], &frame), counted(Outcome::DropRule, &[0]));
    assert_eq!(run(&[Rule::protocol(TCP, Drop)], &frame), counted(Outcome::PassNoMatch, &[]));
}

#[rstest]
fn a_count_rule_counts_and_goes_on(#[values(42, 59, 60, 61, 64)] length: usize) {
    if !can_load() {
        return;
    }
    let frame = udp_to_9(length);
    let count = Rule::port(UDP, 9, Count);
    assert_eq!(run(std::slice::from_ref(&count), &frame), counted(Outcome::PassNoMatch, &[0]));
    let rules =
        [count.clone(), Rule::protocol(TCP, Count), Rule::all(Count), Rule::port(UDP, 9, Drop), count];
    assert_eq!(run(&rules, &frame), counted(Outcome::DropRule, &[0, 2, 3]), "not the one behind the drop");
}

/// The smallest frame that the kernel hands over: rules that read nothing behind the damage match.
#[test]
fn fourteen_bytes() {
    if !can_load() {
        return;
    }
    let frame = case("PKT-03").frame();
    assert_eq!(frame.len(), 14);
    let malformed = Some(Malformed::Ipv4Truncated);
    let expect = |outcome, rules: &[usize]| Counted { malformed, ..counted(outcome, rules) };
    assert_eq!(run(&[], &frame), expect(Outcome::PassNoMatch, &[]));
    assert_eq!(run(&[Rule::protocol(UDP, Drop)], &frame), expect(Outcome::PassNoMatch, &[]));
    assert_eq!(run(&[Rule::all(Pass)], &frame), expect(Outcome::PassRule, &[0]));
    assert_eq!(run(&[Rule::all(Count), Rule::all(Drop)], &frame), expect(Outcome::DropRule, &[0, 1]));
}

const NINE_OPTIONS_HEADERS: &str = "02000000000202000000000186dd6000000000503c4020010db800010000000000000000001020010db8000200000000000000000020\
    3c000104000000003c000104000000003c000104000000003c000104000000003c000104000000003c000104000000003c000104000000003c000104000000001100010400000000\
    0fa0000900080000";

/// The other reason, `FrameTooShort`, is for frames that no driver hands over and the kernel does not run.
#[rstest]
#[case::vlan_truncated("VlanTruncated", &case("PKT-15").frame())]
#[case::vlan_depth("VlanDepth", &case("PKT-14").frame())]
#[case::ipv4_truncated("Ipv4Truncated", &udp_to_9(33))]
#[case::ipv4_bad_version("Ipv4BadVersion", &case("PKT-22").frame())]
#[case::ipv4_header_length("Ipv4HeaderLength", &case("PKT-18").frame())]
#[case::ipv4_options_truncated("Ipv4OptionsTruncated", &case("PKT-19").frame())]
#[case::ipv4_total_length("Ipv4TotalLength", &case("PKT-20").frame())]
#[case::ipv6_truncated("Ipv6Truncated", &case("PKT-37").frame()[..53])]
#[case::ipv6_bad_version("Ipv6BadVersion", &[&case("PKT-37").frame()[..14], &[0x40; 40]].concat())]
#[case::ipv6_payload_length("Ipv6PayloadLength", &case("PKT-40").frame())]
#[case::ipv6_extension_truncated("Ipv6ExtensionTruncated", &case("PKT-39").frame())]
#[case::ipv6_extension_depth("Ipv6ExtensionDepth", &bytes(NINE_OPTIONS_HEADERS))]
#[case::l4_truncated("L4Truncated", &case("PKT-31").frame())]
#[case::udp_length("UdpLength", &case("PKT-29").frame())]
#[case::tcp_data_offset("TcpDataOffset", &case("PKT-27").frame())]
fn malformed_is_counted_by_reason(#[case] reason: &str, #[case] frame: &[u8]) {
    if !can_load() {
        return;
    }
    let counted = run(&[], frame);
    assert_eq!(counted.outcome, Outcome::PassNoMatch);
    assert_eq!(counted.malformed.map(Malformed::name), Some(reason));
}

/// Ports in front of the damage are known, and rules that read no more match (R1).
#[test]
fn a_rule_matches_in_front_of_the_damage() {
    if !can_load() {
        return;
    }
    let expected = Counted { malformed: Some(Malformed::UdpLength), ..counted(Outcome::DropRule, &[0]) };
    assert_eq!(run(&[Rule::port(UDP, 9, Drop)], &case("PKT-29").frame()), expected);
}

/// The length of the frame, not of its head or of its packet.
#[rstest]
#[case::jumbo(&case("PKT-49").frame())]
#[case::more_than_padding(&udp_to_9(89))]
#[case::long_tail(&udp_to_9(1500))]
#[case::tail_beyond_the_head(&udp_to_9(9014))]
fn bytes_are_those_of_the_whole_frame(#[case] frame: &[u8]) {
    if !can_load() {
        return;
    }
    assert_eq!(run(&[Rule::port(UDP, 9, Drop)], frame), counted(Outcome::DropRule, &[0]));
}

#[test]
fn bytes_of_a_jumbo_frame_that_is_not_ip() {
    if !can_load() {
        return;
    }
    let frame = Frame::ethernet([2; 6], [2; 6]).ethertype(0x8847).pad_to(9014).build();
    assert_eq!(run(&[], &frame), counted(Outcome::PassNoMatch, &[]));
}

#[test]
fn as_many_count_rules_as_there_may_be_all_count() {
    if !can_load() {
        return;
    }
    let rules = vec![Rule::port(UDP, 9, Count); MAX_RULES];
    let all: Vec<usize> = (0..MAX_RULES).collect();
    assert_eq!(run(&rules, &udp_to_9(60)), counted(Outcome::PassNoMatch, &all));
}

#[test]
fn each_of_as_many_rules_as_there_may_be_is_reached() {
    if !can_load() {
        return;
    }
    let places = 0..u16::try_from(MAX_RULES).unwrap();
    let rules: Vec<Rule> = places.clone().map(|place| Rule::port(UDP, 1000 + place, Drop)).collect();
    let instance = load(&rules);
    for place in places {
        let frame = Frame::ethernet([2; 6], [2; 6])
            .ipv4([192, 0, 2, 10].into(), [198, 51, 100, 20].into())
            .udp(4000, 1000 + place)
            .build();
        assert_eq!(run_on(&instance, &frame), counted(Outcome::DropRule, &[usize::from(place)]));
    }
}

/// What the verifier works through is most of the time from a policy's change to its effect: 100,000
/// steps are about a tenth of a second.
#[rstest]
#[case::one(&[Rule::port(UDP, 9, Drop)])]
#[case::all_kinds(&[Rule::all(Count), Rule::protocol(TCP, Pass), Rule::port(UDP, 9, Drop)])]
#[case::as_many_as_there_may_be(&vec![[Rule::port(UDP, 9, Count), Rule::port(UDP, 8, Drop)]; MAX_RULES / 2].concat())]
fn the_verifier_has_little_to_do(#[case] rules: &[Rule]) {
    if !can_load() {
        return;
    }
    let instance = load(rules);
    let Some(steps) = verified(&instance) else { return };
    assert!(steps < 100_000, "{steps} steps");
}

#[test]
fn the_verifier_has_not_much_to_do_where_every_field_is_read() {
    if !can_load() {
        return;
    }
    let rules = [Rule::port(UDP, 9, Drop)];
    let mut tables = compile(&rules);
    read_every_field(&mut tables, rules.len());
    let prefixes = vec![0; fixed::LEAST_PAGES * PAGE];
    let content = Content { tables: &tables, prefixes: &prefixes };
    let instance = Instance::load_unpinned(&content, 1, None, &Varied::default()).unwrap();
    let Some(steps) = verified(&instance) else { return };
    assert!(steps < 350_000, "{steps} steps");
}

/// Instructions that the verifier has worked through; `None` if the kernel does not tell.
fn verified(instance: &Instance) -> Option<u32> {
    let id = instance.id().unwrap();
    let program = aya::programs::loaded_programs().map(Result::unwrap).find(|program| program.id() == id);
    program.unwrap().verified_instruction_count()
}
