//! When nothing happens, the agent does nothing: no processor time and no wake-up.

/// Another test's load would be measured here as the agent's.
mod alone {
    use std::{fs, thread::sleep, time::Duration};

    use sluice_testkit::wait_until;

    use crate::harness::{Node, SOON, drops, interface};

    /// What must not grow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Work {
        processor_ticks: u64,
        switches: u64,
    }

    impl Work {
        fn of(pid: u32) -> Self {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            // The fields after the name, which may hold anything: the first is field 3 of the file.
            let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
            let ticks = |field: usize| fields[field - 3].parse::<u64>().unwrap();
            let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
            let statuses =
                threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("status")).unwrap());
            let switches = statuses.map(|status| switches(&status)).sum();
            Self { processor_ticks: ticks(14) + ticks(15), switches }
        }
    }

    fn switches(status: &str) -> u64 {
        let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        counts.map(|(_, count)| count.trim().parse::<u64>().unwrap()).sum()
    }

    /// Nothing for so long would be longer than any polling that is worth the name.
    const A_WHILE: Duration = Duration::from_secs(6);

    fn assert_idle(pid: u32) {
        let mut last = Work::of(pid);
        wait_until(SOON, "the last work is done", || {
            sleep(Duration::from_millis(300));
            std::mem::replace(&mut last, Work::of(pid)) == last
        });
        let before = Work::of(pid);
        sleep(A_WHILE);
        assert_eq!(Work::of(pid), before);
    }

    #[test]
    fn an_agent_without_policies_sleeps() {
        let Some(node) = Node::new("idle-empty") else { return };
        let agent = node.start();
        assert_idle(agent.pid());
    }

    #[test]
    fn an_agent_whose_programs_are_proven_sleeps_while_packets_flow() {
        let Some(node) = Node::new("idle-proven") else { return };
        let agent = node.start();
        node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
        agent.wait_for_rules(node.device(), &["port-9"]);
        node.send(1, 9);
        agent.wait("the proof", |status| interface(status, node.device()).unwrap().verified == "Verified");
        // The counters of the device and of the program move, but nobody has asked.
        node.send(1000, 9);
        assert_idle(agent.pid());
    }

    #[test]
    fn an_agent_with_a_bad_file_sleeps() {
        let Some(node) = Node::new("idle-bad") else { return };
        let agent = node.start();
        node.put("policy.yaml", "{[");
        agent.wait("the problem", |status| !status.policies.is_empty());
        assert_idle(agent.pid());
    }

    #[test]
    fn an_agent_whose_directory_has_vanished_sleeps() {
        let Some(node) = Node::new("idle-vanished") else { return };
        let agent = node.start();
        fs::remove_dir(node.policies()).unwrap();
        agent.wait("the problem", |status| !status.agent.as_ref().unwrap().problems.is_empty());
        assert_idle(agent.pid());
    }
}
