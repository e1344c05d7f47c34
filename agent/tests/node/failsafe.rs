//! The built-in failsafe: under a default Drop the node stays reachable, and policies change only what they say.

use std::{
    collections::BTreeMap,
    fs,
    net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream},
    time::Duration,
};

use rstest::rstest;
use sluice_ipc::v1alpha1::InterfaceStatus;
use sluice_testkit::{Feature, Frame, require, traffic, wait_until};

use crate::harness::{Agent, Node, SOON, counted, interface, policy_status};

const RESOLVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 53);
const API_SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
const STRANGER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const LINK_CONTROL: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 2];
const SYN: u8 = 2;
const ACK: u8 = 16;

/// Drops everything, with these changes of the failsafe.
fn drop_all(node: &Node, mode: &str, failsafe: &str) -> String {
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpPolicy\nmetadata: {{name: closed}}\nspec:\n  interfaces: [{{names: \
         [{}]}}]\n  mode: {mode}\n  defaultAction: Drop\n  failsafe: {failsafe}\n  rules:\n  - {{name: web, match: \
         {{protocol: TCP, destinationPorts: [80]}}, action: {{type: Pass}}}}\n",
        node.device()
    )
}

/// Frames to the node.
struct Frames<'a>(&'a Node);

impl Frames<'_> {
    fn ethernet(&self) -> Frame {
        Frame::ethernet(self.0.lab.peer.mac, self.0.lab.node.mac)
    }

    fn v4(&self, source: Ipv4Addr) -> Frame {
        self.ethernet().ipv4(source, self.0.lab.node.ipv4)
    }

    fn v6(&self) -> Frame {
        self.ethernet().ipv6(Ipv6Addr::LOCALHOST, self.0.lab.node.ipv6)
    }

    /// What the failsafe passes, by the name under which it counts.
    fn passing(&self) -> Vec<(&'static str, Frame)> {
        vec![
            ("arp", self.ethernet().ethertype(0x0806).payload(&[0; 28])),
            ("arp", self.ethernet().vlan(5).ethertype(0x0806).payload(&[0; 28])),
            ("nd", self.v6().icmp(135, 0).payload(&[0; 24])),
            ("nd", self.v6().icmp(134, 0).payload(&[0; 24])),
            ("mld", self.v6().extension(0, 0).icmp(143, 0).payload(&[0; 8])),
            ("icmp-errors", self.v4(STRANGER).icmp(3, 4).payload(&[0; 28])),
            ("icmp-errors", self.v6().icmp(2, 0).payload(&[0; 28])),
            ("dhcp", self.v4(STRANGER).udp(67, 68)),
            ("dhcp", self.v6().udp(547, 546)),
            (
                "link-local-control",
                Frame::ethernet(self.0.lab.peer.mac, LINK_CONTROL).ethertype(0x8809).payload(&[1; 46]),
            ),
            ("api-server", self.v4(API_SERVER).tcp(6443, 40_000, ACK)),
            ("resolver", self.v4(RESOLVER).udp(53, 40_000)),
            ("resolver", self.v4(RESOLVER).tcp(53, 40_000, ACK)),
            ("kubelet", self.v4(STRANGER).tcp(40_000, 10250, SYN)),
            ("ssh", self.v4(STRANGER).tcp(40_000, 22, SYN)),
            ("ssh", self.v6().tcp(40_000, 22, SYN)),
        ]
    }

    /// What no service is.
    fn dropped(&self) -> Vec<Frame> {
        vec![
            self.v4(STRANGER).udp(53, 40_000),
            self.v4(RESOLVER).udp(54, 40_000),
            self.v4(API_SERVER).tcp(6444, 40_000, ACK),
            self.v4(API_SERVER).udp(6443, 40_000),
            self.v4(STRANGER).udp(40_000, 22),
            self.v4(STRANGER).tcp(22, 23, SYN),
            self.v4(STRANGER).udp(68, 67),
            self.v6().udp(67, 68),
            self.v4(STRANGER).icmp(8, 0),
            self.v6().icmp(128, 0),
            self.v4(STRANGER).protocol(47).payload(&[0; 20]),
            // The first four bytes of a later fragment are no ports.
            self.v4(STRANGER).ipv4_fragment(1, false).tcp(40_000, 22, SYN),
            self.ethernet().ethertype(0x88cc).payload(&[0; 46]),
        ]
    }

    fn send(&self, frames: &[Frame]) {
        let frames: Vec<Vec<u8>> = frames.iter().map(Frame::build).collect();
        traffic::send(&self.0.lab.peer.namespace, &self.0.lab.peer.device, &frames).unwrap();
    }
}

fn start(node: &Node) -> Agent {
    fs::write(node.path("resolv.conf"), format!("nameserver {RESOLVER}\n")).unwrap();
    node.start_with(&["--api-server", &format!("{API_SERVER}:6443")])
}

/// Waits until the program has seen so many packets.
fn after(agent: &Agent, node: &Node, packets: u64) -> InterfaceStatus {
    let seen = |it: &InterfaceStatus| it.outcomes.iter().map(|outcome| outcome.packets).sum::<u64>();
    let status = agent.wait(&format!("{packets} packets are counted"), |status| {
        interface(status, node.device()).is_some_and(|interface| seen(interface) == packets)
    });
    interface(&status, node.device()).unwrap().clone()
}

fn outcomes(interface: &InterfaceStatus) -> BTreeMap<&str, u64> {
    let seen = interface.outcomes.iter().filter(|outcome| outcome.packets > 0);
    seen.map(|outcome| (outcome.outcome.as_str(), outcome.packets)).collect()
}

#[rstest]
#[case::native("Native")]
#[case::generic("Generic")]
fn a_default_drop_takes_all_but_what_the_node_needs(#[case] mode: &str) {
    let Some(node) = Node::new("failsafe") else { return };
    let agent = start(&node);
    node.put("policy.yaml", drop_all(&node, mode, "{}"));
    agent.wait_for_rules(node.device(), &["web", "defaultAction"]);
    let frames = Frames(&node);
    let (passing, dropped) = (frames.passing(), frames.dropped());
    frames.send(&passing.iter().map(|(_, frame)| frame.clone()).collect::<Vec<_>>());
    frames.send(&dropped);
    let (passes, drops) = (passing.len() as u64, dropped.len() as u64);
    let interface = after(&agent, &node, passes + drops);
    assert_eq!(outcomes(&interface), BTreeMap::from([("DropDefault", drops), ("PassFailsafe", passes)]));
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for (service, _) in &passing {
        *expected.entry(service).or_default() += 1;
    }
    let of_failsafe = interface.rules.iter().filter(|rule| rule.policy == "failsafe");
    let found: BTreeMap<&str, u64> = of_failsafe.map(|rule| (rule.rule.as_str(), rule.packets)).collect();
    assert_eq!(found, expected);
    assert_eq!(counted(&interface, "closed", "defaultAction"), drops);
}

#[test]
fn ssh_is_answered_and_another_port_is_not() {
    let Some(node) = Node::new("ssh") else { return };
    let agent = start(&node);
    node.put("policy.yaml", drop_all(&node, "Auto", "{}"));
    agent.wait_for_rules(node.device(), &["web", "defaultAction"]);
    let listen = |port| node.namespace().run(|| TcpListener::bind(node.address(port)).unwrap());
    let (_ssh, _other) = (listen(22), listen(23));
    let connect = |port| {
        let (to, patience) = (node.address(port), Duration::from_millis(500));
        node.lab.peer.namespace.run(|| TcpStream::connect_timeout(&to, patience))
    };
    assert!(connect(23).is_err());
    wait_until(SOON, "SSH answers", || connect(22).is_ok());
}

#[rstest]
#[case::narrowed("{services: {SSH: {sources: [10.9.0.0/24]}}}", &[1])]
#[case::disabled("{services: {SSH: {disabled: true}}}", &[])]
#[case::disabled_and_passed_again(
    "{services: {SSH: {disabled: true}}, extra: [{protocol: TCP, ports: [\"22\", \"179\"], sources: [198.51.100.0/24]}]}",
    &[0, 2]
)]
#[case::extended("{extra: [{protocol: TCP, ports: [\"179\"]}]}", &[0, 1, 2])]
fn a_policy_changes_of_the_failsafe_what_it_says(#[case] failsafe: &str, #[case] passing: &[usize]) {
    let Some(node) = Node::new("changes") else { return };
    let agent = start(&node);
    node.put("policy.yaml", drop_all(&node, "Auto", failsafe));
    agent.wait_for_rules(node.device(), &["web", "defaultAction"]);
    let frames = Frames(&node);
    let all = [
        frames.v4(STRANGER).tcp(40_000, 22, SYN),
        frames.v4(node.lab.peer.ipv4).tcp(40_000, 22, SYN),
        frames.v4(STRANGER).tcp(40_000, 179, SYN),
    ];
    for (index, frame) in all.iter().enumerate() {
        frames.send(std::slice::from_ref(frame));
        let interface = after(&agent, &node, index as u64 + 1);
        let passed = passing.iter().filter(|passing| **passing <= index).count() as u64;
        let found = outcomes(&interface).get("PassFailsafe").copied().unwrap_or_default();
        assert_eq!(found, passed, "after frame {index}");
    }
}

#[test]
fn a_new_name_server_passes_as_soon_as_it_is_written() {
    let Some(node) = Node::new("resolver") else { return };
    let agent = start(&node);
    node.put("policy.yaml", drop_all(&node, "Auto", "{}"));
    let before = agent.wait_for_rules(node.device(), &["web", "defaultAction"]).revision;
    fs::write(node.path("aside"), format!("nameserver {STRANGER}\n")).unwrap();
    fs::rename(node.path("aside"), node.path("resolv.conf")).unwrap();
    agent.wait("the new revision", |status| {
        interface(status, node.device()).is_some_and(|interface| interface.revision != before)
    });
    let frames = Frames(&node);
    frames.send(&[frames.v4(STRANGER).udp(53, 40_000), frames.v4(RESOLVER).udp(53, 40_000)]);
    let interface = after(&agent, &node, 2);
    assert_eq!(outcomes(&interface), BTreeMap::from([("DropDefault", 1), ("PassFailsafe", 1)]));
}

#[test]
fn a_gateway_that_a_rule_drops_is_warned_of_as_soon_as_it_is_one() {
    let Some(node) = Node::new("gateway") else { return };
    let agent = node.start();
    let policy = drop_all(&node, "Auto", "{}").replace("defaultAction: Drop", "").replace(
        "{protocol: TCP, destinationPorts: [80]}, action: {type: Pass}",
        "{sources: [10.9.0.0/24]}, action: {type: Drop}",
    );
    node.put("policy.yaml", policy);
    agent.wait_for_rules(node.device(), &["web"]);
    let warns = |status: &_| {
        policy_status(status, "closed").unwrap().warnings.iter().any(|it| it.reason == "CoversNodePeers")
    };
    assert!(!warns(&agent.status()));
    node.ip(&format!("route add default via {}", node.lab.peer.ipv4));
    agent.wait("the warning", warns);
    node.ip("route del default");
    agent.wait("no warning", |status| !warns(status));
}

#[test]
fn the_port_of_a_tunnel_passes_while_the_tunnel_is_there() {
    if !require(Feature::DeviceKind("vxlan")) {
        return;
    }
    let Some(node) = Node::new("tunnel") else { return };
    let agent = node.start();
    node.put("policy.yaml", drop_all(&node, "Auto", "{}"));
    agent.wait_for_rules(node.device(), &["web", "defaultAction"]);
    let passes = |status: &_| {
        interface(status, node.device()).is_some_and(|it| it.rules.iter().any(|rule| rule.rule == "overlay"))
    };
    assert!(!passes(&agent.status()));
    node.ip("link add tunnel type vxlan id 42 dstport 8472");
    agent.wait("the tunnel's port", passes);
    let frames = Frames(&node);
    frames.send(&[frames.v4(STRANGER).udp(40_000, 8472), frames.v4(STRANGER).udp(40_000, 4789)]);
    let interface = after(&agent, &node, 2);
    assert_eq!(outcomes(&interface), BTreeMap::from([("DropDefault", 1), ("PassFailsafe", 1)]));
    node.ip("link del tunnel");
    agent.wait("no tunnel's port", |status| !passes(status));
}
