//! References to address sets, by name and by label.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize as _;
use serde_json::Value;

use super::{labels, list::each_text, names};
use crate::SetReference;
use crate::problem::{Finding, Findings, Reason};

/// Reads the fields of one direction, such as `sourceSets` and `sourceSetSelector`: together they are one
/// reference. The names are sorted.
pub(super) fn check(
    path: &str,
    fields: &Value,
    [names_field, selector_field]: [&str; 2],
    findings: &mut Findings,
) -> Option<SetReference> {
    let (listed, selector) = (&fields[names_field], &fields[selector_field]);
    if listed.is_null() && selector.is_null() {
        return None;
    }
    let mut names = each_text(listed, &format!("{path}.{names_field}"), findings, names::object);
    names.sort_unstable();
    names.dedup();
    let selector = self::selector(&format!("{path}.{selector_field}"), selector, findings);
    Some(SetReference { names, selector })
}

fn selector(path: &str, value: &Value, findings: &mut Findings) -> Option<LabelSelector> {
    if value.is_null() {
        return None;
    }
    let is_empty = |field: &str| {
        value[field].as_object().is_none_or(serde_json::Map::is_empty)
            && value[field].as_array().is_none_or(Vec::is_empty)
    };
    if is_empty("matchLabels") && is_empty("matchExpressions") && !findings.is_touched(path) {
        let fix = "Give matchLabels or matchExpressions";
        findings.push(Finding::new(path, Reason::EmptySelector, "it would select every set there is", fix));
    }
    labels::check(path, value, findings);
    LabelSelector::deserialize(value).ok()
}
