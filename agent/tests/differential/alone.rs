//! Rates over ten seconds on two CPUs, exact to 2 %: nothing else may run beside it.

use std::net::Ipv4Addr;
use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};
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
/// A bucket must not be full before its next batch: then it would pass less than its rate.
const BURST_SECONDS: u64 = 5;

/// A limit under measurement.
struct Measured {
    name: String,
    program: Program,
    /// Packets in a second that it lets pass.
    rate: u64,
    /// Packets that each CPU offers at once.
    batch: u32,
    /// From the beginning of the first batch to the end of the last.
    span: Mutex<Option<(Instant, Instant)>>,
}

fn measured(machine: &mut Machine, packets: u64, per: &str, is_bits: bool) -> Measured {
    let mut limit = json!({"per": per});
    let (field, rate) =
        if is_bits { ("bitsPerSecond", packets * FRAME_BITS) } else { ("packetsPerSecond", packets) };
    limit[field] = json!(rate);
    limit["burst"] = json!(rate * BURST_SECONDS);
    let rules: Value = json!([{"name": "limit", "match": {"protocol": "UDP"}, "action": {"type": "RateLimit", "rateLimit": limit}}]);
    let plan = plan_of(&[("p", &json!({"rules": rules}))], &NodeFacts::default(), &Sets::new());
    let program = load(machine, &plan, &Sets::new());
    // The kernel takes some ten milliseconds to begin a batch, so all of them come round every two or three seconds.
    let batch = u32::try_from(packets * 4).unwrap();
    Measured {
        name: format!("{packets} packets/s by {field} per {per}"),
        program,
        rate: packets,
        batch,
        span: Mutex::default(),
    }
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
    offer(&all, &frame);
    let wrong: Vec<String> = all.iter().filter_map(Measured::wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Offers the frame to all of them from two CPUs.
fn offer(all: &[Measured], frame: &[u8]) {
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
                        measured.offer(frame);
                    }
                }
            });
        }
        while begun.elapsed() < DURATION {
            thread::park_timeout(DURATION.saturating_sub(begun.elapsed()));
        }
        is_over.store(true, Relaxed);
    });
}

impl Measured {
    fn offer(&self, frame: &[u8]) {
        let begun = Instant::now();
        self.program.instance().run(frame, self.batch).unwrap();
        let mut span = self.span.lock().unwrap();
        let first = span.map_or(begun, |(first, _)| first.min(begun));
        *span = Some((first, Instant::now()));
    }

    /// What is wrong, in words. A bucket begins with a burst.
    fn wrong(&self) -> Option<String> {
        let (first, last) = self.span.lock().unwrap().unwrap();
        let seconds = (last - first).as_secs_f64();
        let counted = self.program.counted();
        let (offered, exceeded) = (counted.packets("p/limit"), counted.packets("p/limit#exceeded"));
        let expected = self.rate as f64 * (seconds + BURST_SECONDS as f64);
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
