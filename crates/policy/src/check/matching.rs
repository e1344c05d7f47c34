//! The match of a rule: its fields, its `not`, and what they have to do with each other.

use serde_json::Value;

use super::contradictions::{self, Protocol};
use super::fields;
use crate::problem::{Finding, Findings, Reason};
use crate::{Fields, Matcher};

/// Reads the match at `path`.
pub(super) fn check(path: &str, value: &Value, findings: &mut Findings) -> Matcher {
    let (fields, protocol) = level(path, value, Protocol::Absent, findings);
    let not_path = format!("{path}.not");
    let not = value.get("not").map(|not| {
        refuse_empty(&not_path, not, findings);
        level(&not_path, not, protocol, findings).0
    });
    Matcher { fields, not }
}

/// One conjunction of fields. `around` is the protocol that packets have anyway.
fn level(path: &str, value: &Value, around: Protocol, findings: &mut Findings) -> (Fields, Protocol) {
    let fields = fields::check(path, value, findings);
    let protocol = Protocol::of(path, value, &fields, findings);
    contradictions::check(path, value, &fields, protocol.or(around), findings);
    (fields, protocol)
}

/// An empty `not` would match every packet, and so its rule none.
fn refuse_empty(path: &str, not: &Value, findings: &mut Findings) {
    if not.as_object().is_some_and(serde_json::Map::is_empty) && !findings.is_touched(path) {
        let message = "it has no field: the rule would match nothing";
        let fix = "Say what must not match, or remove not";
        findings.push(Finding::new(path, Reason::EmptyMatch, message, fix));
    }
}
