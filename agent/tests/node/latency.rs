//! From the rename of a policy file to its program in force.

/// A measurement of time.
mod alone {
    use std::time::{Duration, Instant};

    use rstest::rstest;
    use sluice_dataplane::links::Netlink;
    use sluice_testkit::wait_until;

    use crate::harness::{Node, SOON, drops};

    const CHANGES: u16 = 100;
    const LIMIT: Duration = Duration::from_millis(100);

    #[rstest]
    #[case::native("Native")]
    #[case::generic("Generic")]
    fn the_usual_change_is_in_force_in_a_tenth_of_a_second(#[case] mode: &'static str) {
        let Some(node) = Node::new("latency") else { return };
        let agent = node.start();
        node.put("policy.yaml", drops("web", node.device(), mode, &[9]));
        agent.wait_for_rules(node.device(), &["port-9"]);
        let mut times = node.namespace().run(|| measure(&node, mode));
        times.sort_unstable();
        let (median, ninety_nine) = (times[times.len() / 2], times[times.len() * 99 / 100 - 1]);
        println!("{mode}: median {median:?}, p99 {ninety_nine:?}, worst {:?}", times[times.len() - 1]);
        // The tail belongs to whoever else wants the processors; a delay of our own moves the median.
        assert!(median < LIMIT, "median {median:?}, p99 {ninety_nine:?}");
    }

    /// Runs where the device is. Nobody asks the agent meanwhile: the kernel says what is in force.
    fn measure(node: &Node, mode: &'static str) -> Vec<Duration> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let netlink = runtime.block_on(async { Netlink::open() }).unwrap();
        let program = || {
            let link = runtime.block_on(netlink.link(node.lab.node.ifindex)).unwrap();
            link.unwrap().xdp.unwrap().program_id
        };
        let change = |number| {
            let before = program();
            let policy = drops("web", node.device(), mode, &[9, 10_000 + number]);
            let started = Instant::now();
            node.put("policy.yaml", policy);
            wait_until(SOON, "the change is in force", || program() != before);
            started.elapsed()
        };
        (0..CHANGES).map(change).collect()
    }
}
