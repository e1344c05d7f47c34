//! A document to a checked policy. Everything that is wrong is collected, not only the first.

mod action;
mod addresses;
mod contradictions;
mod cpus;
mod failsafe;
mod fields;
mod flags;
mod interfaces;
pub(crate) mod kind;
mod labels;
mod length;
mod list;
mod marks;
mod matching;
pub(crate) mod names;
mod not_implemented;
mod number;
mod ports;
pub mod prefix;
mod protocol;
mod rate;
mod rules;
mod sets;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use protocol::protocol_name;

use crate::problem::{Finding, Findings, Reason};
use crate::{Policy, schema};

/// Most problems of one document that are listed.
const MAX_FINDINGS: usize = 100;

/// Checks a document.
pub(crate) fn policy(file: &str, document: &Value) -> Result<Policy, Vec<Finding>> {
    kind::check(document).map_err(|finding| vec![finding])?;
    let mut sound = document.clone();
    let mut findings = Findings::default();
    schema::check(&mut sound, &mut findings);
    not_implemented::find(document, &mut findings);

    let metadata_name = sound["metadata"]["name"].as_str();
    let name = metadata_name.and_then(|name| findings.keep(names::policy("metadata.name", name)));
    let spec = &sound["spec"];
    let interfaces = interfaces::check(&spec["interfaces"], &mut findings);
    let failsafe = failsafe::check("spec.failsafe", &spec["failsafe"], &mut findings);
    let rules = rules::check(&spec["rules"], &mut findings);
    let findings = findings.into_list();
    if !findings.is_empty() {
        return Err(in_order(findings));
    }
    Ok(Policy {
        name: name.unwrap_or_default(),
        file: file.to_owned(),
        document: without_status(document),
        priority: word(&spec["priority"]).unwrap_or(sluice_api::DEFAULT_PRIORITY),
        mode: word(&spec["mode"]).unwrap_or_default(),
        enforcement: word(&spec["enforcement"]).unwrap_or_default(),
        default_action: word(&spec["defaultAction"]),
        failsafe,
        interfaces,
        rules,
    })
}

/// A value of which the schema has said that it is one of those allowed. Absent if it was not given.
fn word<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn without_status(document: &Value) -> Value {
    let mut document = document.clone();
    if let Some(fields) = document.as_object_mut() {
        fields.remove("status");
    }
    document
}

/// By field, with the numbers in paths compared as numbers.
pub(crate) fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_cached_key(|finding| {
        let parts = finding.field.split(['.', '[', ']']);
        parts.map(|part| (part.parse::<u64>().ok(), part.to_owned())).collect::<Vec<_>>()
    });
    findings.dedup();
    if findings.len() > MAX_FINDINGS {
        findings.truncate(MAX_FINDINGS);
        let message = format!("there are more than {MAX_FINDINGS} problems");
        findings.push(Finding::new("", Reason::TooManyProblems, message, "Correct those listed first"));
    }
    findings
}
