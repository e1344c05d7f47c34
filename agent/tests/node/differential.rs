//! The program in the kernel against the reference evaluator: random policies through the compiler, random
//! frames through the loaded program, and each frame's verdict and counted rules compared.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};
use serde_json::{Value, json};
use sluice_dataplane::instance::Instance;
use sluice_ebpf_common::{Counter, Counters, MAX_RULES, Outcome, RULE_SLOTS};
use sluice_policy::reference::{NoSets, Unlimited, Verdict, dissect, evaluate};
use sluice_policy::{Action, InterfacePlan, LinkFacts, Node, Policy, compile, parse_document};
use sluice_testkit::frame::Frame;
use sluice_testkit::{Feature, require};

const POLICIES: u32 = 150;
const PACKETS: usize = 50;
const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
/// Known to the parser by their number only.
const OTHERS: [u8; 5] = [2, 47, 89, 112, 253];

/// A frame, as far as rules can tell frames apart.
#[derive(Clone, Debug)]
struct Packet {
    tags: u16,
    /// `None`: ARP.
    version: Option<u8>,
    protocol: u8,
    port: u16,
    fragment: Fragment,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fragment {
    None,
    First,
    Later,
}

impl Packet {
    fn protocol(&self) -> Option<u8> {
        let version = self.version?;
        let is_icmp = matches!(self.protocol, 1 | 58);
        Some(if is_icmp { if version == 4 { 1 } else { 58 } } else { self.protocol })
    }

    fn frame(&self) -> Vec<u8> {
        let ethernet = Frame::ethernet([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let tagged = (0..self.tags).fold(ethernet, |frame, tag| frame.vlan(tag + 100));
        let (offset, more) = match self.fragment {
            Fragment::None => (0, false),
            Fragment::First => (0, true),
            Fragment::Later => (9, false),
        };
        let network = match self.version {
            None => return tagged.ethertype(0x0806).payload(&[0; 28]).pad_to(60).build(),
            Some(4) => {
                let (one, other) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
                tagged.ipv4(one, other).ipv4_fragment(offset, more)
            }
            Some(_) => {
                let network = tagged.ipv6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
                if self.fragment == Fragment::None { network } else { network.ipv6_fragment(offset, more) }
            }
        };
        let protocol = self.protocol().unwrap();
        let whole = match protocol {
            _ if self.fragment == Fragment::Later => network.protocol(protocol),
            TCP => network.tcp(1000, self.port, 2),
            UDP => network.udp(1000, self.port),
            SCTP => network.sctp(1000, self.port),
            1 | 58 => network.icmp(8, 0),
            other => network.protocol(other),
        };
        whole.payload(&[0xa5; 32]).pad_to(60).build()
    }
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![3 => 0..12_u16, 1 => 65_530..=u16::MAX, 1 => any::<u16>()]
}

fn protocol() -> impl Strategy<Value = u8> {
    let others = prop::sample::select(OTHERS.to_vec());
    prop_oneof![3 => Just(UDP), 3 => Just(TCP), 1 => Just(SCTP), 1 => Just(1), 1 => Just(58), 1 => others]
}

fn packet() -> impl Strategy<Value = Packet> {
    let version = prop_oneof![1 => Just(None), 6 => Just(Some(4)), 4 => Just(Some(6))];
    let fragment =
        prop_oneof![6 => Just(Fragment::None), 1 => Just(Fragment::First), 1 => Just(Fragment::Later)];
    (0..3_u16, version, protocol(), port(), fragment).prop_map(|(tags, version, protocol, port, fragment)| {
        Packet { tags, version, protocol, port, fragment }
    })
}

/// A rule as a document has it, without its name.
fn rule() -> impl Strategy<Value = Value> {
    let range = (port(), port()).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b)));
    let ports = prop::collection::vec(prop_oneof![range, port().prop_map(|port| port.to_string())], 0..4);
    let action = prop_oneof![2 => Just("Drop"), 1 => Just("Pass"), 2 => Just("Count")];
    (prop::option::weighted(0.9, protocol()), ports, action).prop_map(|(protocol, ports, action)| {
        let Some(protocol) = protocol else {
            // What drops has to say what it drops.
            return json!({"action": {"type": if action == "Drop" { "Pass" } else { action }}});
        };
        let mut matching = json!({"protocol": protocol});
        if matches!(protocol, TCP | UDP | SCTP) && !ports.is_empty() {
            matching["destinationPorts"] = json!(ports);
        }
        json!({"match": matching, "action": {"type": action}})
    })
}

fn policy(name: &str, mut rules: Vec<Value>) -> Policy {
    for (index, rule) in rules.iter_mut().enumerate() {
        rule["name"] = json!(format!("r{index}"));
    }
    let document = json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "XdpPolicy",
        "metadata": {"name": name},
        "spec": {"interfaces": [{"names": ["eth0"]}], "rules": rules},
    });
    parse_document("random.yaml", &document).unwrap()
}

/// A plan of two policies; together they may have more rules or ranges than there is room for.
fn plan() -> impl Strategy<Value = InterfacePlan> {
    let rules = || prop::collection::vec(rule(), 1..MAX_RULES * 2 / 3);
    (rules(), rules()).prop_map(|(one, other)| {
        let link = LinkFacts { ifindex: 2, name: "eth0".to_owned(), ..LinkFacts::default() };
        let node = Node { links: vec![link], ..Node::default() };
        compile(&[policy("a", one), policy("b", other)], &node).interfaces.remove(0)
    })
}

#[test]
fn the_kernel_judges_as_the_reference_does() {
    if !require(Feature::Root) || !require(Feature::Bpf) {
        return;
    }
    let config = Config { cases: POLICIES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let input = (plan(), prop::collection::vec(packet(), PACKETS));
    runner.run(&input, |(plan, packets)| judge(&plan, &packets)).unwrap();
}

fn judge(plan: &InterfacePlan, packets: &[Packet]) -> TestCaseResult {
    // Slots in no order, so that a rule is not taken for its slot.
    let slots = (0..plan.rules.len()).map(|rule| u16::try_from((rule * 37 + 5) % RULE_SLOTS).unwrap());
    let slots: Vec<u16> = slots.collect();
    let instance = Instance::load_unpinned(&plan.tables(&slots)).unwrap();
    let mut before = instance.counters().unwrap();
    for packet in packets {
        let frame = packet.frame();
        let action = instance.run(&frame, 1).unwrap().action;
        let after = instance.counters().unwrap();
        let verdict = evaluate(&plan.rules, &NoSets, &mut Unlimited, &dissect(&frame));
        let outcome = outcome(plan, &verdict);
        prop_assert_eq!(action, if outcome.drops() { XDP_DROP } else { XDP_PASS }, "{:?}", packet);
        let mut expected: Vec<usize> = verdict.counted.iter().map(|rule| usize::from(slots[*rule])).collect();
        expected.sort_unstable();
        let moved = |part: fn(&Counters) -> &[Counter]| moved(part(&before), part(&after), frame.len());
        prop_assert_eq!(moved(|counters| &counters.rules), expected, "{:?}", packet);
        prop_assert_eq!(moved(|counters| &counters.outcomes), [outcome as usize], "{:?}", packet);
        prop_assert!(moved(|counters| &counters.malformed).is_empty(), "{:?}", packet);
        before = after;
    }
    Ok(())
}

fn outcome(plan: &InterfacePlan, verdict: &Verdict) -> Outcome {
    match verdict.decided_by.map(|rule| plan.rules[rule].action.clone()) {
        None => Outcome::PassNoMatch,
        Some(Action::Drop) => Outcome::DropRule,
        Some(_) => Outcome::PassRule,
    }
}

/// The counters that counted one frame of this length. Anything else fails.
fn moved(before: &[Counter], after: &[Counter], length: usize) -> Vec<usize> {
    let changed = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
    let one = |(slot, (before, after)): (usize, (&Counter, &Counter))| {
        let counted = (after.packets - before.packets, after.bytes - before.bytes);
        assert_eq!(counted, (1, length as u64), "slot {slot}");
        slot
    };
    changed.map(one).collect()
}
