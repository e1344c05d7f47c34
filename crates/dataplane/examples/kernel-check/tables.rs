//! Tables from nothing to everything: the verifier removes the code of fields that no rule reads, so each
//! kind is another program to it.

use sluice_ebpf_common::{FIELD_DESTINATION_PORT, FIELD_PROTOCOL, MAX_RULES, Tables};

pub const UDP: u8 = 17;
/// The port that [`ordinary`] drops.
pub const PORT: u16 = 9;

/// No rule.
pub fn empty() -> Box<Tables> {
    Box::new(Tables::EMPTY)
}

/// One rule: drop UDP to port 9.
pub fn ordinary() -> Box<Tables> {
    let mut tables = empty();
    tables.fields = FIELD_PROTOCOL | FIELD_DESTINATION_PORT;
    tables.drop = 1;
    tables.protocol[usize::from(UDP)] = 1;
    tables.destination_port_class[usize::from(PORT)] = 1;
    tables.destination_port[1] = 1;
    tables
}

/// Every field, action and bit: all rules but the last count every frame, and the last drops UDP to port 9.
pub fn everything() -> Box<Tables> {
    let last = 1 << (MAX_RULES - 1);
    let others = last - 1;
    let mut tables = empty();
    tables.fields = FIELD_PROTOCOL | FIELD_DESTINATION_PORT;
    tables.drop = last;
    tables.count = others;
    tables.protocol_unknown = others;
    tables.destination_port_unknown = others;
    tables.protocol = [others; 256];
    tables.protocol[usize::from(UDP)] |= last;
    tables.destination_port[0] = others;
    tables.destination_port[1] = others | last;
    tables.destination_port_class[usize::from(PORT)] = 1;
    for (slot, place) in tables.rule_slot.iter_mut().zip(0..) {
        *slot = place;
    }
    tables
}
