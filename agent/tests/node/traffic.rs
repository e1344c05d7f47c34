//! Swaps and kills under traffic: nothing that is dropped gets through, nothing that is honest is lost.

/// These take both processors, and measure losses.
mod alone {
    use rstest::rstest;
    use sluice_testkit::{
        Frame, VethLab,
        traffic::{Flood, RunningFlood, UdpSink, UdpStream},
        wait_until,
    };

    use crate::harness::{
        Agent, BeforeSwap, Moment, Node, SOON, drops, interface, policy_rules, policy_status,
    };

    /// Fast enough that any gap lets something through, slow enough that the lab itself loses nothing.
    const FLOOD_PER_SECOND: u64 = 50_000;
    const HONEST_PER_SECOND: u32 = 5_000;
    const HONEST_PORT: u16 = 40_000;
    const FLOOD_PORT: u16 = 9;

    /// A flood that is dropped, and a stream that is not.
    struct Traffic {
        flood: RunningFlood,
        stream: UdpStream,
        leaked: UdpSink,
        before: u64,
    }

    impl Traffic {
        /// Starts when the flood's port is closed by a policy. Nothing of `leaked` counts that came before.
        fn start(node: &Node, leaked: UdpSink) -> Self {
            let VethLab { node: to, peer: from } = &node.lab;
            let frame = Frame::ethernet(from.mac, to.mac).ipv4(from.ipv4, to.ipv4).udp(4000, FLOOD_PORT);
            let frames = vec![frame.payload(b"flood").pad_to(60).build()];
            let before = leaked.received();
            let stream = UdpStream::start(
                &from.namespace,
                &to.namespace,
                node.address(HONEST_PORT),
                HONEST_PER_SECOND,
            );
            let flood = Flood::new(frames).at_rate(FLOOD_PER_SECOND).start(&from.namespace, &from.device);
            let (stream, flood) = (stream.unwrap(), flood.unwrap());
            wait_until(SOON, "traffic flows", || flood.sent() > 1000 && stream.sent() > 100);
            Self { flood, stream, leaked, before }
        }

        fn assert_no_leak_and_no_loss(self) {
            let flood = self.flood.stop().unwrap();
            let honest = self.stream.stop().unwrap();
            println!("flood {} frames in {:?}, honest {} datagrams", flood.sent, flood.elapsed, honest.sent);
            assert_eq!(self.leaked.received() - self.before, 0, "packets of the flood that got through");
            assert_eq!((honest.lost, honest.duplicates), (vec![], 0), "of {} honest datagrams", honest.sent);
        }
    }

    /// A policy that closes the flood's port, and differs from the one before.
    fn revision(node: &Node, mode: &'static str, number: u16) -> String {
        drops("web", node.device(), mode, &[FLOOD_PORT, 10_000 + number])
    }

    fn wait_for_revision(node: &Node, agent: &Agent, number: u16) -> u32 {
        let rules = [format!("port-{FLOOD_PORT}"), format!("port-{}", 10_000 + number)];
        agent.wait_for_rules(node.device(), &rules.each_ref().map(String::as_str)).link_id
    }

    /// An agent whose policy is in force, and a counter of leaks that is known to count.
    fn started(node: &Node, mode: &'static str) -> (Agent, UdpSink, u32) {
        let leaked = node.sink(FLOOD_PORT);
        node.send(5, FLOOD_PORT);
        wait_until(SOON, "the port is open without a policy", || leaked.received() == 5);
        let agent = node.start();
        node.put("policy.yaml", revision(node, mode, 0));
        let link = wait_for_revision(node, &agent, 0);
        assert_eq!(node.program().unwrap().mode, mode);
        (agent, leaked, link)
    }

    #[rstest]
    #[case::native("Native")]
    #[case::generic("Generic")]
    fn two_hundred_swaps_under_flood_leak_nothing_and_lose_nothing(#[case] mode: &'static str) {
        let Some(node) = Node::new("flood") else { return };
        let (agent, leaked, link) = started(&node, mode);
        let traffic = Traffic::start(&node, leaked);
        for number in 1..=200 {
            node.put("policy.yaml", revision(&node, mode, number));
            assert_eq!(wait_for_revision(&node, &agent, number), link, "revision {number}");
        }
        let status = agent.status();
        let (interface, policy) = (interface(&status, node.device()), policy_status(&status, "web"));
        assert_eq!(policy.unwrap().interfaces, [node.device()]);
        let counted = policy_rules(interface.unwrap()).next().unwrap().packets;
        let sent = traffic.flood.sent();
        traffic.assert_no_leak_and_no_loss();
        assert!(counted > sent / 2, "the flood was there to be dropped: {counted} of {sent}");
    }

    #[rstest]
    #[case::native("Native")]
    #[case::generic("Generic")]
    fn twenty_kills_under_flood_leak_nothing_and_lose_nothing(#[case] mode: &'static str) {
        let Some(node) = Node::new("kills") else { return };
        let (mut agent, leaked, link) = started(&node, mode);
        let traffic = Traffic::start(&node, leaked);
        for number in 1..=20 {
            // Every second kill falls into a swap, at each moment of it in turn.
            if number % 2 == 0 {
                let before = BeforeSwap::of(&node);
                node.put("policy.yaml", revision(&node, mode, number));
                before.wait_for(Moment::of_round(number / 2));
            }
            agent.kill();
            agent = node.start();
            let expected = number / 2 * 2;
            assert_eq!(wait_for_revision(&node, &agent, expected), link, "kill {number}");
        }
        traffic.assert_no_leak_and_no_loss();
    }
}
