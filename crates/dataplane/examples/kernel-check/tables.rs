//! Content from nothing to everything: the verifier removes the code of fields that no rule reads, so each
//! kind is another program to it.

use sluice_dataplane::instance::Compiled;
use sluice_ebpf_common::{
    MAX_RULES, Tables,
    prefixes::{PAGE, fixed},
    tables::{Action, GIVES_MARK, GIVES_PRIORITY, Limit, Marking},
};
use sluice_testkit::rules::{self, Rule, compile, numbered, read_every_field};

pub const UDP: u8 = 17;
/// The port that [`ordinary`] drops.
pub const PORT: u16 = 9;

/// No rule.
pub fn empty() -> Compiled {
    Compiled { tables: compile(&[]), prefixes: vec![] }
}

/// One rule: drop UDP to port 9.
pub fn ordinary() -> Compiled {
    Compiled { tables: compile(&[Rule::port(UDP, PORT, rules::Action::Drop)]), prefixes: vec![] }
}

/// Every field and action, and as many rules as there may be: all but the last take every frame and go on, and the last
/// drops UDP to port 9.
pub fn everything() -> Compiled {
    let mut rules = vec![Rule::all(rules::Action::Count); MAX_RULES - 1];
    rules.push(Rule::port(UDP, PORT, rules::Action::Drop));
    let mut tables = compile(&numbered(&rules));
    read_every_field(&mut tables, rules.len());
    act(&mut tables);
    Compiled { tables, prefixes: vec![0; fixed::LEAST_PAGES * PAGE] }
}

/// Makes the first rules mark, and limit by node and by source, with more than enough for every frame.
fn act(tables: &mut Tables) {
    let rate = Limit { burst: 1 << 60, horizon: 1 << 61, prefix_v4: 32, prefix_v6: 64, ..Limit::default() };
    tables.marks = 1;
    tables.markings[0] = Marking { given: GIVES_MARK | GIVES_PRIORITY, mark: 1, priority: 6 };
    tables.limits[0] = rate;
    tables.limits[1] = Limit { per_source: 1, ..rate };
    let actions = [(Action::Mark, 0), (Action::RateLimit, 0), (Action::RateLimit, 1)];
    for (rule, (action, parameter)) in tables.rules.iter_mut().zip(actions) {
        rule.action = action as u8;
        rule.parameter = parameter;
    }
}
