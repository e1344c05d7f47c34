//! What a run of the product's program with some rules counted.

use sluice_dataplane::instance::{Content, Instance, Varied};
use sluice_ebpf_common::{Counter, Counters, Malformed, Outcome};
use sluice_testkit::rules::{Rule, compile, numbered};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

/// The program with these rules. Their counters are their places in the list.
pub fn load(rules: &[Rule]) -> Instance {
    let content = Content { tables: &compile(&numbered(rules)), prefixes: &[] };
    Instance::load_unpinned(&content, 0, None, &Varied::default()).unwrap()
}

/// What one run counted, each as one frame of the length that was run.
#[derive(Debug, PartialEq)]
pub struct Counted {
    pub outcome: Outcome,
    /// Places of the rules that matched.
    pub rules: Vec<usize>,
    pub malformed: Option<Malformed>,
}

/// Runs the product's program with these rules once on `frame`.
pub fn run(rules: &[Rule], frame: &[u8]) -> Counted {
    run_on(&load(rules), frame)
}

/// Runs a loaded program once more; any counter that moves but by one frame fails the test.
pub fn run_on(instance: &Instance, frame: &[u8]) -> Counted {
    let before = instance.counters().unwrap();
    let action = instance.run(frame, 1).unwrap().action;
    let after = instance.counters().unwrap();
    let moved = |part: fn(&Counters) -> &[Counter]| moved(part(&before), part(&after), frame.len());
    let [outcome] = moved(|counters| &counters.outcomes)[..] else { panic!("not exactly one outcome") };
    let outcome = Outcome::ALL[outcome];
    assert_eq!(action, if outcome.drops() { XDP_DROP } else { XDP_PASS });
    let malformed = moved(|counters| &counters.malformed);
    assert!(malformed.len() <= 1, "{malformed:?}");
    assert_eq!(moved(|counters| &counters.events), vec![]);
    Counted {
        outcome,
        rules: moved(|counters| &counters.rules),
        malformed: malformed.first().map(|code| {
            *Malformed::ALL.iter().find(|reason| **reason as usize == *code).expect("a known reason")
        }),
    }
}

fn moved(before: &[Counter], after: &[Counter], length: usize) -> Vec<usize> {
    let changed = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
    changed
        .map(|(slot, (before, after))| {
            assert_eq!(after.packets - before.packets, 1);
            assert_eq!(after.bytes - before.bytes, u64::try_from(length).unwrap());
            slot
        })
        .collect()
}
