//! Bit vectors: AND what each field accepts, take the lowest bit. See [`Tables`] for the layout.

use sluice_ebpf_common::{FIELD_DESTINATION_PORT, FIELD_PROTOCOL, MAX_RULES, RULE_SLOTS, Tables};

use crate::flow::Flow;

/// The first terminal rule that matched, and the counting rules before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Bit of the terminal rule, or 0.
    pub terminal: u64,
    /// Bits of the Count rules that matched before it.
    pub counting: u64,
}

/// Finds the rules that match `flow`.
#[inline(always)]
#[must_use]
pub fn classify(tables: &Tables, flow: &Flow) -> Match {
    let bits = matching(tables, flow);
    let stop = bits & (tables.drop | tables.pass);
    let terminal = stop.isolate_lowest_one();
    // The bits below the terminal one; all of them where there is none.
    Match { terminal, counting: bits & tables.count & terminal.wrapping_sub(1) }
}

#[inline(always)]
fn matching(tables: &Tables, flow: &Flow) -> u64 {
    // Bits without a rule have no action either, and fall out with it.
    let mut bits = u64::MAX;
    if tables.fields & FIELD_PROTOCOL != 0 {
        bits &= match flow.protocol {
            Some(protocol) => tables.protocol[usize::from(protocol)],
            None => tables.protocol_unknown,
        };
    }
    if tables.fields & FIELD_DESTINATION_PORT != 0 {
        bits &= match flow.destination_port {
            Some(port) => {
                let class = tables.destination_port_class[usize::from(port)];
                tables.destination_port[usize::from(class)]
            }
            None => tables.destination_port_unknown,
        };
    }
    bits
}

/// The counter slot of the rule whose bit is the lowest in `bits`, which must not be 0.
#[inline(always)]
#[must_use]
pub fn slot(tables: &Tables, bits: u64) -> usize {
    // The masks change nothing; they tell the verifier the bounds.
    let rule = bits.trailing_zeros() as usize & (MAX_RULES - 1);
    usize::from(tables.rule_slot[rule]) & (RULE_SLOTS - 1)
}
