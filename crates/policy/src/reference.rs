//! The reference evaluator: slow and obvious. The tests of this crate hold the tables to it, those of the
//! agent the program in the kernel; nothing in production calls it.

use crate::{Action, Matcher, PlannedRule};

/// What a packet shows. A field that it does not have is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFields {
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// Destination port.
    pub destination_port: Option<u16>,
}

/// What the rules make of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Index of the terminal rule that decided; absent: no rule did, the packet passes.
    pub decided_by: Option<usize>,
    /// Indexes of the counting rules that matched before that.
    pub counted_by: Vec<usize>,
}

/// Goes through the rules one by one.
#[must_use]
pub fn evaluate(rules: &[PlannedRule], packet: PacketFields) -> Verdict {
    let mut verdict = Verdict::default();
    for (index, rule) in rules.iter().enumerate() {
        if !matches(&rule.matcher, packet) {
            continue;
        }
        if rule.action == Action::Count {
            verdict.counted_by.push(index);
        } else {
            verdict.decided_by = Some(index);
            break;
        }
    }
    verdict
}

/// Whether a rule matches: what it reads must be there and fit.
#[must_use]
pub fn matches(matcher: &Matcher, packet: PacketFields) -> bool {
    let protocol_fits = matcher.fields.protocol.is_none() || matcher.fields.protocol == packet.protocol;
    let port_fits = matcher.fields.destination_ports.is_empty()
        || packet
            .destination_port
            .is_some_and(|port| matcher.fields.destination_ports.iter().any(|range| range.contains(port)));
    protocol_fits && port_fits
}
