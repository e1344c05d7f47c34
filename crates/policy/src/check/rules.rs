//! The rules of a policy.

use std::collections::BTreeMap;

use serde_json::Value;

use super::list::elements;
use super::{action, matching, names};
use crate::Rule;
use crate::problem::{Finding, Findings, Reason, quote};

/// Reads `spec.rules`. A rule whose action was refused is left out of the result.
pub(super) fn check(list: &Value, findings: &mut Findings) -> Vec<Rule> {
    refuse_double_names(list, findings);
    elements(list)
        .filter_map(|(index, value)| rule(&format!("spec.rules[{index}]"), value, findings))
        .collect()
}

fn refuse_double_names(list: &Value, findings: &mut Findings) {
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, name) in elements(list).filter_map(|(index, rule)| Some((index, rule["name"].as_str()?))) {
        let first = *first_of.entry(name).or_insert(index);
        if first != index {
            let path = format!("spec.rules[{index}].name");
            let message = format!("{} is also the name of spec.rules[{first}]", quote(name));
            let fix = "Give each rule a name of its own";
            findings.push(Finding::new(path, Reason::DuplicateName, message, fix));
        }
    }
}

fn rule(path: &str, value: &Value, findings: &mut Findings) -> Option<Rule> {
    if let Some(name) = value["name"].as_str() {
        names::check_rule(&format!("{path}.name"), name, findings);
    }
    refuse_match_all(path, value, findings);
    let matcher = matching::check(&format!("{path}.match"), &value["match"], findings);
    let action = action::check(&format!("{path}.action"), &value["action"], findings)?;
    Some(Rule { name: value["name"].as_str()?.to_owned(), matcher, action })
}

/// A rule that drops must say what. If its match was refused before, that has been said.
fn refuse_match_all(path: &str, rule: &Value, findings: &mut Findings) {
    let path = format!("{path}.match");
    let Some(drops @ ("Drop" | "RateLimit")) = rule["action"]["type"].as_str() else {
        return;
    };
    let has_fields = rule["match"].as_object().is_some_and(|fields| !fields.is_empty());
    if has_fields || findings.is_touched(&path) {
        return;
    }
    let message = format!("a {drops} rule without a match would take every packet");
    let fix = "Say what it matches; defaultAction is for what no rule matches";
    findings.push(Finding::new(path, Reason::MatchRequired, message, fix));
}
