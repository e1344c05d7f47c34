//! Every counter, exact: by rule, by verdict, and of malformed packets.

use std::fmt::{self, Formatter};

use sluice_ipc::v1alpha1::InterfaceStatus;

use super::{Columns, table};

const BY_RULE: Columns<'_> = &["INTERFACE", "POLICY", "RULE", "ACTION", ">PACKETS", ">BYTES"];
const BY_OUTCOME: Columns<'_> = &["INTERFACE", "OUTCOME", "VERDICT", ">PACKETS", ">BYTES"];
const MALFORMED: Columns<'_> = &["INTERFACE", "MALFORMED", ">PACKETS", ">BYTES"];

/// Writes those tables that have rows.
pub fn write(f: &mut Formatter<'_>, interfaces: &[InterfaceStatus], width: Option<u16>) -> fmt::Result {
    for (columns, rows) in [
        (BY_RULE, interfaces.iter().flat_map(by_rule).collect::<Vec<_>>()),
        (BY_OUTCOME, interfaces.iter().flat_map(by_outcome).collect()),
        (MALFORMED, interfaces.iter().flat_map(malformed).collect()),
    ] {
        if !rows.is_empty() {
            write!(f, "\n{}", table(columns, rows, width))?;
        }
    }
    Ok(())
}

fn row(words: &[&str], packets: u64, bytes: u64) -> Vec<String> {
    words.iter().map(ToString::to_string).chain([packets.to_string(), bytes.to_string()]).collect()
}

fn by_rule(interface: &InterfaceStatus) -> Vec<Vec<String>> {
    let rules = interface.rules.iter();
    rules.map(|it| row(&[&interface.name, &it.policy, &it.rule, &it.action], it.packets, it.bytes)).collect()
}

fn by_outcome(interface: &InterfaceStatus) -> Vec<Vec<String>> {
    let outcomes = interface.outcomes.iter();
    outcomes.map(|it| row(&[&interface.name, &it.outcome, &it.verdict], it.packets, it.bytes)).collect()
}

fn malformed(interface: &InterfaceStatus) -> Vec<Vec<String>> {
    let seen = interface.malformed.iter().filter(|it| it.packets > 0);
    seen.map(|it| row(&[&interface.name, &it.reason], it.packets, it.bytes)).collect()
}
