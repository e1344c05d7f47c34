//! Frames through a loaded program, attached to nothing, with the verdicts and counters that are right.

use anyhow::{Result, ensure};
use sluice_dataplane::instance::{Compiled, Instance, Varied};
use sluice_ebpf_common::{Counter, Counters, MAX_RULES, Outcome};
use sluice_testkit::Frame;

use crate::{loading::SOURCES, tables::PORT};

/// XDP's actions, as the kernel numbers them.
const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

/// A frame, and what must become of it.
pub struct Expectation {
    frame: fn() -> Vec<u8>,
    outcome: Outcome,
    /// How many rules count it.
    rules: usize,
}

/// For [`crate::tables::ordinary`].
pub const ORDINARY: [Expectation; 4] = [
    Expectation { frame: || udp(PORT), outcome: Outcome::DropRule, rules: 1 },
    Expectation { frame: || udp(PORT + 1), outcome: Outcome::PassNoMatch, rules: 0 },
    Expectation { frame: || udp6(PORT), outcome: Outcome::DropRule, rules: 1 },
    Expectation { frame: arp, outcome: Outcome::PassNoMatch, rules: 0 },
];

/// For [`crate::tables::everything`].
pub const EVERYTHING: [Expectation; 4] = [
    Expectation { frame: || udp(PORT), outcome: Outcome::DropRule, rules: MAX_RULES },
    Expectation { frame: || udp(PORT + 1), outcome: Outcome::PassNoMatch, rules: MAX_RULES - 1 },
    Expectation { frame: || udp6(PORT), outcome: Outcome::DropRule, rules: MAX_RULES },
    Expectation { frame: arp, outcome: Outcome::PassNoMatch, rules: MAX_RULES - 1 },
];

/// Loads the program and runs each frame once.
pub fn follow(compiled: &Compiled, expected: &[Expectation]) -> Result<String> {
    let instance = Instance::load_unpinned(&compiled.content(), SOURCES, None, &Varied::default())?;
    for (number, Expectation { frame, outcome, rules }) in expected.iter().enumerate() {
        let before = instance.counters()?;
        let action = instance.run(&frame(), 1)?.action;
        let after = instance.counters()?;
        let wanted = if outcome.drops() { XDP_DROP } else { XDP_PASS };
        ensure!(action == wanted, "frame {number}: action {action} instead of {wanted}");
        let moved = outcome_packets(&after, *outcome) - outcome_packets(&before, *outcome);
        ensure!(moved == 1, "frame {number}: {} counted {moved} frames instead of one", outcome.name());
        let events = packets(&after.events) - packets(&before.events);
        ensure!(events == 0, "frame {number}: {events} marks or lookups failed");
        let counted = packets(&after.rules) - packets(&before.rules);
        ensure!(counted == u64::try_from(*rules)?, "frame {number}: {counted} rules instead of {rules}");
    }
    Ok(format!("{} frames", expected.len()))
}

fn outcome_packets(counters: &Counters, outcome: Outcome) -> u64 {
    counters.outcomes[outcome as usize].packets
}

fn packets(counters: &[Counter]) -> u64 {
    counters.iter().map(|counter| counter.packets).sum()
}

fn udp(port: u16) -> Vec<u8> {
    let ends = ([192, 0, 2, 10].into(), [198, 51, 100, 20].into());
    Frame::ethernet([2; 6], [2; 6]).ipv4(ends.0, ends.1).udp(4000, port).build()
}

fn udp6(port: u16) -> Vec<u8> {
    let ends = ("2001:db8::1".parse(), "2001:db8::2".parse());
    let (Ok(source), Ok(destination)) = ends else { return Vec::new() };
    Frame::ethernet([2; 6], [2; 6]).ipv6(source, destination).udp(4000, port).build()
}

fn arp() -> Vec<u8> {
    Frame::ethernet([2; 6], [2; 6]).ethertype(0x0806).pad_to(60).build()
}
