//! Label selectors, held to what Kubernetes says of them.

use serde_json::Value;

use super::{list::elements, names};
use crate::problem::{Finding, Findings, Reason, quote};
use crate::schema::field_path;

/// Refuses what selects nothing because no label can be so.
pub(super) fn check(path: &str, selector: &Value, findings: &mut Findings) {
    let labels = selector["matchLabels"].as_object();
    for (label, value) in labels.into_iter().flatten() {
        let path = field_path(&format!("{path}.matchLabels"), label);
        key(&path, label, findings);
        self::value(&path, value, findings);
    }
    for (index, expression) in elements(&selector["matchExpressions"]) {
        self::expression(&format!("{path}.matchExpressions[{index}]"), expression, findings);
    }
}

fn expression(path: &str, expression: &Value, findings: &mut Findings) {
    if let Some(label) = expression["key"].as_str() {
        key(&format!("{path}.key"), label, findings);
    }
    let values_path = format!("{path}.values");
    for (index, value) in elements(&expression["values"]) {
        self::value(&format!("{values_path}[{index}]"), value, findings);
    }
    let has_values = expression["values"].as_array().is_some_and(|values| !values.is_empty());
    let refusal = match expression["operator"].as_str() {
        Some(operator @ ("In" | "NotIn")) if !has_values && !findings.is_touched(&values_path) => Some((
            values_path,
            format!("{operator} needs values"),
            "Add them, or write Exists or DoesNotExist",
        )),
        Some(operator @ ("Exists" | "DoesNotExist")) if has_values => {
            Some((values_path, format!("{operator} takes no values"), "Remove them, or write In or NotIn"))
        }
        Some("In" | "NotIn" | "Exists" | "DoesNotExist") | None => None,
        Some(other) => {
            let message = format!("{} is no operator", quote(other));
            Some((format!("{path}.operator"), message, "Write In, NotIn, Exists or DoesNotExist"))
        }
    };
    if let Some((path, message, fix)) = refusal {
        findings.push(Finding::new(path, Reason::InvalidSelector, message, fix));
    }
}

fn key(path: &str, label: &str, findings: &mut Findings) {
    let (prefix, name) = label.rsplit_once('/').map_or((None, label), |(prefix, name)| (Some(prefix), name));
    if !is_part(name) || prefix.is_some_and(|prefix| names::object("", prefix).is_err()) {
        let fix = "Write a key such as app or example.org/app";
        let message = format!("{} is no key of a label", quote(label));
        findings.push(Finding::new(path, Reason::InvalidSelector, message, fix));
    }
}

fn value(path: &str, value: &Value, findings: &mut Findings) {
    if let Some(text) = value.as_str().filter(|text| !text.is_empty() && !is_part(text)) {
        let fix = "Use at most 63 letters, digits, -, _ and ., with a letter or digit at both ends";
        let message = format!("{} is no value of a label", quote(text));
        findings.push(Finding::new(path, Reason::InvalidSelector, message, fix));
    }
}

fn is_part(text: &str) -> bool {
    const LONGEST: usize = 63;
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= LONGEST
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}
