//! Every counter, exact: by rule, by verdict, by event, and of malformed packets.

use std::fmt::{self, Formatter};

use sluice_ipc::v1alpha1::{InterfaceStatus, RuleCounter};

use super::{Columns, table};

const BY_RULE: Columns<'_> = &["INTERFACE", "POLICY", "RULE", "ACTION", ">PACKETS", ">BYTES"];
/// Of rate limits: those of the packets that were above.
const EXCEEDED: Columns<'_> = &[">EXCEEDED", ">BYTES"];
const BY_OUTCOME: Columns<'_> = &["INTERFACE", "OUTCOME", "VERDICT", ">PACKETS", ">BYTES"];
const BY_EVENT: Columns<'_> = &["INTERFACE", "EVENT", ">PACKETS", ">BYTES"];
const MALFORMED: Columns<'_> = &["INTERFACE", "MALFORMED", ">PACKETS", ">BYTES"];

/// Writes those tables that have rows.
pub fn write(f: &mut Formatter<'_>, interfaces: &[InterfaceStatus], width: Option<u16>) -> fmt::Result {
    let limits = interfaces.iter().flat_map(|interface| &interface.rules).any(is_limit);
    let exceeded = if limits { EXCEEDED } else { &[] };
    for (columns, rows) in [
        (
            [BY_RULE, exceeded].concat(),
            interfaces.iter().flat_map(|it| by_rule(it, limits)).collect::<Vec<_>>(),
        ),
        (BY_OUTCOME.to_vec(), interfaces.iter().flat_map(by_outcome).collect()),
        (BY_EVENT.to_vec(), interfaces.iter().flat_map(by_event).collect()),
        (MALFORMED.to_vec(), interfaces.iter().flat_map(malformed).collect()),
    ] {
        if !rows.is_empty() {
            write!(f, "\n{}", table(&columns, rows, width))?;
        }
    }
    Ok(())
}

fn row(words: &[&str], packets: u64, bytes: u64) -> Vec<String> {
    words.iter().map(ToString::to_string).chain([packets.to_string(), bytes.to_string()]).collect()
}

fn is_limit(rule: &RuleCounter) -> bool {
    rule.exceeded_packets.is_some()
}

fn by_rule(interface: &InterfaceStatus, limits: bool) -> Vec<Vec<String>> {
    let one = |it: &RuleCounter| {
        let action = if it.dry_run { format!("{} (dry run)", it.action) } else { it.action.clone() };
        let mut row = row(&[&interface.name, &it.policy, &it.rule, &action], it.packets, it.bytes);
        let figure =
            |exceeded: Option<u64>| exceeded.map_or_else(|| "-".to_owned(), |number| number.to_string());
        row.extend([it.exceeded_packets, it.exceeded_bytes].map(figure).into_iter().filter(|_| limits));
        row
    };
    interface.rules.iter().map(one).collect()
}

fn by_outcome(interface: &InterfaceStatus) -> Vec<Vec<String>> {
    let outcomes = interface.outcomes.iter();
    outcomes.map(|it| row(&[&interface.name, &it.outcome, &it.verdict], it.packets, it.bytes)).collect()
}

fn by_event(interface: &InterfaceStatus) -> Vec<Vec<String>> {
    let events = interface.events.iter();
    events.map(|it| row(&[&interface.name, &it.event], it.packets, it.bytes)).collect()
}

fn malformed(interface: &InterfaceStatus) -> Vec<Vec<String>> {
    let seen = interface.malformed.iter().filter(|it| it.packets > 0);
    seen.map(|it| row(&[&interface.name, &it.reason], it.packets, it.bytes)).collect()
}
