//! Content from nothing to everything: the verifier removes the code of fields that no rule reads, so each
//! kind is another program to it.

use sluice_dataplane::instance::Compiled;
use sluice_ebpf_common::{
    MAX_RULES,
    prefixes::{PAGE, fixed},
};
use sluice_testkit::rules::{Action, Rule, compile, numbered, read_every_field};

pub const UDP: u8 = 17;
/// The port that [`ordinary`] drops.
pub const PORT: u16 = 9;

/// No rule.
pub fn empty() -> Compiled {
    Compiled { tables: compile(&[]), prefixes: vec![] }
}

/// One rule: drop UDP to port 9.
pub fn ordinary() -> Compiled {
    Compiled { tables: compile(&[Rule::port(UDP, PORT, Action::Drop)]), prefixes: vec![] }
}

/// Every field and as many rules as there may be: all but the last count every frame, and the last drops UDP to port 9.
pub fn everything() -> Compiled {
    let mut rules = vec![Rule::all(Action::Count); MAX_RULES - 1];
    rules.push(Rule::port(UDP, PORT, Action::Drop));
    let mut tables = compile(&numbered(&rules));
    read_every_field(&mut tables, rules.len());
    Compiled { tables, prefixes: vec![0; fixed::LEAST_PAGES * PAGE] }
}
