//! TCP flags by name.

use serde::Deserialize as _;
use serde_json::Value;
use sluice_api::TcpFlag;

use super::list::elements;
use crate::TcpFlags;
use crate::problem::{Finding, Findings, Reason};

/// Reads `tcpFlags`.
pub(super) fn check(path: &str, value: &Value, findings: &mut Findings) -> TcpFlags {
    let flags = TcpFlags { set: bits(&value["set"]), unset: bits(&value["unset"]) };
    if value.as_object().is_some_and(serde_json::Map::is_empty) && !findings.is_touched(path) {
        let fix = "Give set, unset or both";
        findings.push(Finding::new(path, Reason::EmptyMatch, "it asks for no flag", fix));
    }
    let both: Vec<String> =
        FLAGS.iter().filter(|flag| flags.set & flags.unset & bit(**flag) != 0).copied().map(name).collect();
    if !both.is_empty() {
        let are = if both.len() == 1 { "is" } else { "are" };
        let message = format!("{} {are} both set and unset", both.join(" and "));
        let fix = "Take each flag out of one of the lists";
        findings.push(Finding::new(path, Reason::FlagSetAndUnset, message, fix));
    }
    flags
}

/// In the order of their bits.
const FLAGS: [TcpFlag; 8] = [
    TcpFlag::Fin,
    TcpFlag::Syn,
    TcpFlag::Rst,
    TcpFlag::Psh,
    TcpFlag::Ack,
    TcpFlag::Urg,
    TcpFlag::Ece,
    TcpFlag::Cwr,
];

fn bit(flag: TcpFlag) -> u8 {
    1 << flag as u8
}

fn bits(list: &Value) -> u8 {
    let flags = elements(list).filter_map(|(_, flag)| TcpFlag::deserialize(flag).ok());
    flags.fold(0, |bits, flag| bits | bit(flag))
}

fn name(flag: TcpFlag) -> String {
    format!("{flag:?}").to_uppercase()
}
