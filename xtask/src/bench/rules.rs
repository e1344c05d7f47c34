//! Policies of many rules for the bench, and the packets that they are asked about.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sluice_dataplane::instance::{Compiled, Instance, Varied};
use sluice_policy::{Bindings, InterfacePlan, LinkFacts, Node, compile, parse_document};
use sluice_testkit::Frame;

/// Bytes of every frame.
const FRAME: usize = 60;

/// A policy of `count` rules. They use five fields in four ways, as lists of services and clients do: a port from a
/// network, a port, an address, and a reply port to a network. So every word of the bit vectors has rules that do not
/// read some field.
pub fn policy(count: usize) -> Value {
    let rule = |number: usize| {
        let (high, low) = (number / 250, number % 250);
        let port = (1000 + number).to_string();
        let matching = match number % 4 {
            0 => {
                json!({"protocol": "UDP", "destinationPorts": [port], "sources": [format!("10.{high}.{low}.0/24")]})
            }
            1 => json!({"protocol": "TCP", "destinationPorts": [port]}),
            2 => json!({"sources": [format!("192.168.{high}.{low}/32")]}),
            _ => {
                json!({"protocol": "UDP", "sourcePorts": [port], "destinations": [format!("172.16.{low}.0/24")]})
            }
        };
        json!({"name": format!("r{number}"), "match": matching, "action": {"type": "Drop"}})
    };
    json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "XdpPolicy",
        "metadata": {"name": "bench"},
        "spec": {"interfaces": [{"names": ["bench0"]}], "rules": (0..count).map(rule).collect::<Vec<_>>()},
    })
}

/// The packet that rule `number` of [`policy`] drops.
pub fn packet(number: usize) -> Vec<u8> {
    let (high, low) = (octet(number / 250), octet(number % 250));
    let port = u16::try_from(1000 + number).unwrap_or(u16::MAX);
    let node = [198, 51, 100, 20];
    let ipv4 = |source: [u8; 4], destination: [u8; 4]| {
        Frame::ethernet([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]).ipv4(source.into(), destination.into())
    };
    let frame = match number % 4 {
        0 => ipv4([10, high, low, 7], node).udp(40_000, port),
        1 => ipv4([203, 0, 113, 7], node).tcp(40_000, port, 2),
        2 => ipv4([192, 168, high, low], node).udp(40_000, 40_001),
        _ => ipv4([203, 0, 113, 7], [172, 16, low, 9]).udp(port, 40_001),
    };
    frame.pad_to(FRAME).build()
}

/// A packet that no rule drops.
pub fn other_packet() -> Vec<u8> {
    let ethernet = Frame::ethernet([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]);
    let frame = ethernet.ipv4([203, 0, 113, 7].into(), [198, 51, 100, 20].into()).udp(40_000, 40_001);
    frame.pad_to(FRAME).build()
}

fn octet(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// The plan of one policy on one interface.
pub fn plan(policy: &Value) -> Result<InterfacePlan> {
    let policy = parse_document("bench.yaml", policy)
        .map_err(|problems| anyhow::anyhow!("the policy is refused: {problems:?}"))?;
    let link = LinkFacts { ifindex: 1, name: "bench0".to_owned(), up: true, ..LinkFacts::default() };
    let node = Node { links: vec![link], ..Node::default() };
    compile(&[policy], &node).interfaces.into_iter().next().context("the plan is empty")
}

/// The program of a plan, loaded and attached to nothing.
pub fn load(plan: &InterfacePlan, varied: &Varied) -> Result<Instance> {
    let slots = plan.counter_names().into_iter().zip(1..).collect();
    let compiled = plan
        .compiled(&Bindings { slots, ..Bindings::default() })
        .map_err(|refused| anyhow::anyhow!("more than {} {}", refused.most, refused.what))?;
    let compiled = Compiled { tables: compiled.tables, prefixes: compiled.prefixes };
    Ok(Instance::load_unpinned(&compiled.content(), plan.sources(), None, varied)?)
}
