//! Rates over ten seconds on two CPUs, exact to 2 %: nothing else may run beside it.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};
use sluice_policy::NodeFacts;

use crate::cases::{load, plan_of};
use crate::limits::v4;
use crate::policies::Sets;
use crate::program::{Machine, Program};
use crate::{can_load, cpus};

const DURATION: Duration = Duration::from_secs(10);
/// Bits of a frame.
const FRAME_BITS: u64 = 1000;
const TOLERANCE: f64 = 0.02;

/// A limit under measurement.
struct Measured {
    name: String,
    program: Program,
    /// Packets in a second that it lets pass.
    rate: u64,
    /// Packets that each CPU offers at once.
    batch: u32,
}

fn measured(machine: &mut Machine, packets: u64, per: &str, is_bits: bool) -> Measured {
    let mut limit = json!({"per": per});
    let (field, rate) =
        if is_bits { ("bitsPerSecond", packets * FRAME_BITS) } else { ("packetsPerSecond", packets) };
    limit[field] = json!(rate);
    let rules: Value = json!([{"name": "limit", "match": {"protocol": "UDP"}, "action": {"type": "RateLimit", "rateLimit": limit}}]);
    let plan = plan_of(&[("p", &json!({"rules": rules}))], &NodeFacts::default(), &Sets::new());
    let program = load(machine, &plan, &Sets::new());
    // Several times more than passes, but not so much that the largest rate has no time.
    let batch = u32::try_from((packets / 500).max(4)).unwrap();
    Measured { name: format!("{packets} packets/s by {field} per {per}"), program, rate: packets, batch }
}

#[test]
fn rates_are_exact_to_two_percent_on_two_cpus() {
    if !can_load() {
        return;
    }
    assert!(cpus() >= 2, "it takes two CPUs");
    let frame = v4(Ipv4Addr::new(192, 0, 2, 10), 4000);
    assert_eq!(frame.len() as u64 * 8, FRAME_BITS);
    let mut machine = Machine::new();
    let mut all = Vec::new();
    for packets in [1_000, 30_000, 1_000_000] {
        for per in ["Node", "Source"] {
            for is_bits in [false, true] {
                all.push(measured(&mut machine, packets, per, is_bits));
            }
        }
    }
    let seconds = offer(&all, &frame);
    let wrong: Vec<String> = all.iter().filter_map(|measured| measured.wrong(seconds)).collect();
    assert!(wrong.is_empty(), "in {seconds:.2} s: {wrong:#?}");
}

/// Offers the frame to all of them from two CPUs; the seconds that it took.
fn offer(all: &[Measured], frame: &[u8]) -> f64 {
    let is_over = AtomicBool::new(false);
    let begun = Instant::now();
    thread::scope(|scope| {
        for cpu in 0..2 {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut set = CpuSet::new();
                set.set(cpu);
                sched_setaffinity(None, &set).unwrap();
                while !is_over.load(Relaxed) {
                    for measured in all {
                        measured.program.instance().run(frame, measured.batch).unwrap();
                    }
                }
            });
        }
        while begun.elapsed() < DURATION {
            thread::park_timeout(DURATION.saturating_sub(begun.elapsed()));
        }
        is_over.store(true, Relaxed);
    });
    begun.elapsed().as_secs_f64()
}

impl Measured {
    /// What is wrong, in words. A bucket begins with a burst of a tenth of a second.
    fn wrong(&self, seconds: f64) -> Option<String> {
        let counted = self.program.counted();
        let (offered, exceeded) = (counted.packets("p/limit"), counted.packets("p/limit#exceeded"));
        let expected = self.rate as f64 * (seconds + 0.1);
        let passed = (offered - exceeded) as f64;
        println!("{}: {passed} of {offered} passed, {:+.3} %", self.name, (passed / expected - 1.0) * 100.0);
        if (offered as f64) < expected * 1.2 {
            return Some(format!(
                "{}: the machine is too busy to offer more than the rate: {offered}",
                self.name
            ));
        }
        let is_exact = (passed / expected - 1.0).abs() <= TOLERANCE;
        (!is_exact).then(|| format!("{}: {passed} passed instead of {expected:.0}", self.name))
    }
}
