//! Decide by the rules and count: every packet under one outcome, every rule that matched, and the
//! place of the damage if there is any.

use sluice_ebpf_common::{Counter, Counters, MAX_RULES, Outcome, Tables};

use crate::{
    classify::{classify, slot},
    flow::Flow,
};

/// Decides on `flow`, a frame of `bytes` bytes, and counts it.
#[inline(always)]
pub fn account(tables: &Tables, flow: &Flow, bytes: usize, counters: &mut Counters) -> Outcome {
    if let Some(reason) = flow.malformed {
        count(&mut counters.malformed[reason as usize], bytes);
    }
    let matched = classify(tables, flow);
    count_each(tables, matched.counting, bytes, counters);
    let outcome = if matched.terminal == 0 {
        Outcome::PassNoMatch
    } else {
        count(&mut counters.rules[slot(tables, matched.terminal)], bytes);
        if matched.terminal & tables.drop != 0 { Outcome::DropRule } else { Outcome::PassRule }
    };
    count(&mut counters.outcomes[outcome as usize], bytes);
    outcome
}

/// Counts for each rule in `counting`.
#[inline(always)]
fn count_each(tables: &Tables, mut counting: u64, bytes: usize, counters: &mut Counters) {
    // The bound of the loop is for the verifier, which does not see that a bit goes each time.
    for _ in 0..MAX_RULES {
        if counting == 0 {
            return;
        }
        count(&mut counters.rules[slot(tables, counting)], bytes);
        counting &= counting - 1;
    }
}

#[inline(always)]
fn count(counter: &mut Counter, bytes: usize) {
    counter.packets += 1;
    counter.bytes += bytes as u64;
}
