//! `verdicts.yaml` and `packets.yaml` on the loaded program: verdicts, and by its counters which rule decided.

use std::fmt::Write as _;

use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};
use sluice_policy::reference::FragmentPlace;
use sluice_policy::reference::Packet;
use sluice_policy::{InterfacePlan, LinkFacts, Node, NodeFacts, SetFacts, compile, parse_document};

use crate::can_load;
use crate::frame_cases::{all as all_frames, bytes, case as frame_case};
use crate::policies::Sets;
use crate::program::{Machine, Program, bindings, malformed_name};
use crate::values::{ICMP, ICMPV6, SCTP, TCP, UDP};

static VERDICTS: &str = include_str!("../../../crates/policy/tests/cases/verdicts.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    #[serde(rename = "title")]
    _title: String,
    #[serde(default)]
    node: NodeFacts,
    policies: Vec<Named>,
    packets: Vec<Judged>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    spec: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    frame: String,
    hex: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    verdict: String,
    by: String,
}

/// The plan of policies on one interface.
pub fn plan_of(policies: &[(&str, &Value)], facts: &NodeFacts, sets: &Sets) -> InterfacePlan {
    let parse = |(name, spec): &(&str, &Value)| {
        let mut spec = (*spec).clone();
        spec["interfaces"] = json!([{"names": ["eth0"]}]);
        let document = json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "XdpPolicy", "metadata": {"name": name}, "spec": spec});
        parse_document("case.yaml", &document).unwrap()
    };
    let policies: Vec<_> = policies.iter().map(parse).collect();
    let links = vec![LinkFacts { ifindex: 2, name: "eth0".to_owned(), ..LinkFacts::default() }];
    let sets = sets.keys().map(|name| SetFacts { name: name.clone(), ..SetFacts::default() }).collect();
    compile(&policies, &Node { links, facts: facts.clone(), sets }).interfaces.remove(0)
}

/// The program of a plan.
pub fn load(machine: &mut Machine, plan: &InterfacePlan, sets: &Sets) -> Program {
    let bindings = bindings(plan);
    let compiled = plan.compiled(&bindings).unwrap();
    machine.load(plan, sets, bindings, &compiled)
}

/// Runs a frame: the verdict, and who decided, by the counters that have moved.
pub fn judge(program: &Program, frame: &[u8]) -> (&'static str, String) {
    let before = program.counted();
    let action = program.run(frame).action;
    let moved = program.counted().since(&before);
    let names: Vec<&str> = moved.names().collect();
    let rules: Vec<&str> = names.iter().copied().filter(|name| name.contains('/')).collect();
    let is_none = names.contains(&"outcome PassNoMatch");
    let by = if is_none { "none".to_owned() } else { rules.join(" ") };
    (if action == 1 { "Drop" } else { "Pass" }, by)
}

#[rstest]
#[case::pol_01("POL-01")]
#[case::pol_04("POL-04")]
#[case::pol_05("POL-05")]
#[case::pol_06("POL-06")]
#[case::pol_07("POL-07")]
#[case::pol_08("POL-08")]
#[case::pol_09("POL-09")]
#[case::pol_10("POL-10")]
#[case::pol_11("POL-11")]
#[case::pol_12("POL-12")]
#[case::pol_15("POL-15")]
#[case::pol_16("POL-16")]
fn judges(#[case] id: &str) {
    if !can_load() {
        return;
    }
    let case = all().into_iter().find(|case| case.id == id).expect("a case with this id");
    let policies: Vec<(&str, &Value)> =
        case.policies.iter().map(|policy| (policy.name.as_str(), &policy.spec)).collect();
    let plan = plan_of(&policies, &case.node, &Sets::new());
    let program = load(&mut Machine::new(), &plan, &Sets::new());
    for packet in &case.packets {
        let frame = match (&packet.hex, &packet.reference) {
            (Some(hex), None) => bytes(hex),
            (None, Some(id)) => frame_case(id).frame(),
            _ => panic!("{}: either hex or ref", packet.frame),
        };
        let (verdict, by) = judge(&program, &frame);
        assert_eq!((verdict, by.as_str()), (packet.verdict.as_str(), packet.by.as_str()), "{}", packet.frame);
    }
}

fn all() -> Vec<Case> {
    serde_saphyr::from_str(VERDICTS).unwrap()
}

#[test]
fn every_verdict_of_the_file_is_tested() {
    let ids: Vec<String> = all().into_iter().map(|case| case.id).collect();
    let tested = [1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16].map(|number| format!("POL-{number:02}"));
    assert_eq!(ids, tested);
}

/// Rules that count what the case says that the packet shows, and rules that would count if it showed anything that
/// the case says is unknown.
#[test]
fn every_frame_of_the_packet_cases_is_read_right() {
    if !can_load() {
        return;
    }
    let mut machine = Machine::new();
    let mut wrong = String::new();
    let mut run = 0;
    for case in all_frames() {
        let (frame, packet) = (case.frame(), case.packet());
        if frame.len() < 14 {
            // The kernel runs no program on less than an Ethernet header.
            continue;
        }
        run += 1;
        let (shown, unknown) = rules_for(&packet);
        let spec =
            json!({"rules": named("shown", &shown).chain(named("unknown", &unknown)).collect::<Vec<_>>()});
        let program =
            load(&mut machine, &plan_of(&[("p", &spec)], &NodeFacts::default(), &Sets::new()), &Sets::new());
        program.run(&frame);
        let counted = program.counted();
        let reasons = counted.names().filter(|name| name.starts_with("malformed")).collect::<Vec<_>>();
        let expected: Vec<String> = packet.malformed.map(malformed_name).into_iter().collect();
        if reasons != expected {
            writeln!(wrong, "{}: {reasons:?} instead of {expected:?}", case.id).unwrap();
        }
        let is_failsafe = counted.packets("outcome PassFailsafe") == 1;
        for (index, matching) in shown.iter().enumerate().filter(|_| !is_failsafe) {
            if counted.packets(&format!("p/shown{index}")) != 1 {
                writeln!(wrong, "{}: does not show {matching}", case.id).unwrap();
            }
        }
        for (index, matching) in unknown.iter().enumerate() {
            if counted.packets(&format!("p/unknown{index}")) != 0 {
                writeln!(wrong, "{}: shows {matching}", case.id).unwrap();
            }
        }
    }
    assert_eq!(wrong, "");
    assert_eq!(run, 48, "frames of at least 14 bytes");
}

fn named<'a>(name: &'a str, matches: &'a [Value]) -> impl Iterator<Item = Value> + 'a {
    let rule = move |(index, matching): (usize, &Value)| json!({"name": format!("{name}{index}"), "match": matching, "action": {"type": "Count"}});
    matches.iter().enumerate().map(rule)
}

fn rules_for(packet: &Packet) -> (Vec<Value>, Vec<Value>) {
    let (mut shown, mut unknown) = (Vec::new(), Vec::new());
    let either = |value: Value| [value.clone(), json!({"not": value})];
    match packet.vlans.first() {
        Some(id) => shown.push(json!({"vlan": {"ids": [id]}})),
        None => unknown.extend(either(json!({"vlan": {"ids": [0, 100]}}))),
    }
    match packet.ip_version {
        Some(version) => {
            shown.push(json!({"ipVersion": if version == sluice_policy::IpVersion::V4 { 4 } else { 6 }}));
        }
        None => unknown.extend(either(json!({"ipVersion": 4}))),
    }
    for (field, address) in [("sources", packet.source), ("destinations", packet.destination)] {
        match address {
            Some(address) => shown.push(json!({field: [ipnet::IpNet::from(address).to_string()]})),
            None => unknown.extend(either(json!({field: ["192.0.2.10/32", "2001:db8::1/128"]}))),
        }
    }
    match packet.l3_length {
        // Of more than 65535 bytes none can be asked for.
        Some(length) if length <= 65535 => shown.push(json!({"length": format!("{length}-{length}")})),
        Some(_) => {}
        None => unknown.extend(either(json!({"length": "0-100"}))),
    }
    match packet.fragment {
        Some(FragmentPlace::Whole) => shown.push(json!({"not": {"fragment": "Any"}})),
        Some(FragmentPlace::First) => shown.push(json!({"fragment": "First"})),
        Some(FragmentPlace::Later) => shown.push(json!({"fragment": "Later"})),
        None => unknown.extend(either(json!({"fragment": "Any"}))),
    }
    match packet.protocol {
        Some(protocol) => {
            shown.push(json!({"protocol": protocol}));
            upper(packet, protocol, &mut shown, &mut unknown);
        }
        None => unknown.extend(either(json!({"protocol": 17}))),
    }
    (shown, unknown)
}

fn upper(packet: &Packet, protocol: u8, shown: &mut Vec<Value>, unknown: &mut Vec<Value>) {
    let mut field = |name: &str, value: Option<Value>, other: Value| {
        if let Some(value) = value {
            shown.push(json!({"protocol": protocol, name: value}));
        } else {
            unknown.push(json!({"protocol": protocol, name: other}));
            unknown.push(json!({"protocol": protocol, "not": {name: other}}));
        }
    };
    if [TCP, UDP, SCTP].contains(&protocol) {
        field("sourcePorts", packet.source_port.map(|port| json!([port])), json!(["0-100"]));
        field("destinationPorts", packet.destination_port.map(|port| json!([port])), json!(["0-100"]));
    }
    if protocol == TCP {
        field("tcpFlags", packet.tcp_flags.map(flags), json!({"set": ["SYN"]}));
    }
    if [ICMP, ICMPV6].contains(&protocol) {
        let icmp = packet.icmp.map(|(kind, code)| json!({"type": kind, "code": code}));
        field("icmp", icmp, json!({"type": 8}));
    }
}

fn flags(byte: u8) -> Value {
    let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
    let of = |wanted: u8| -> Vec<&str> {
        let is = |(bit, _): &(usize, &&str)| byte >> bit & 1 == wanted;
        names.iter().enumerate().filter(is).map(|(_, name)| *name).collect()
    };
    let lists = [("set", of(1)), ("unset", of(0))].into_iter().filter(|(_, flags)| !flags.is_empty());
    lists.map(|(name, flags)| (name.to_owned(), json!(flags))).collect::<serde_json::Map<_, _>>().into()
}
