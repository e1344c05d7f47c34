//! A document to a checked policy. Everything that is wrong is collected, not only the first.

mod interfaces;
pub(crate) mod kind;
pub(crate) mod names;
mod not_implemented;
mod ports;
pub mod prefix;
mod protocol;
mod rules;

use serde_json::Value;
use sluice_api::{Enforcement, Mode};

pub(crate) use protocol::has_ports;
pub use protocol::protocol_name;

use crate::problem::{Finding, Findings, Reason};
use crate::{Failsafe, Policy, schema};

/// Most problems of one document that are listed.
const MAX_FINDINGS: usize = 100;

/// Checks a document.
pub(crate) fn policy(file: &str, document: &Value) -> Result<Policy, Vec<Finding>> {
    kind::check(document).map_err(|finding| vec![finding])?;
    let mut sound = document.clone();
    let mut findings = Findings::default();
    schema::check(&mut sound, &mut findings);
    not_implemented::find(document, &mut findings);

    let name = sound["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if !sound["metadata"]["name"].is_null() {
        names::check_policy(&name, &mut findings);
    }
    let spec = &sound["spec"];
    let interfaces = interfaces::check(&spec["interfaces"], &mut findings);
    let rules = rules::check(&spec["rules"], &mut findings);
    let findings = findings.into_list();
    if !findings.is_empty() {
        return Err(in_order(findings));
    }
    let mode = spec.get("mode").map_or(Mode::Auto, mode_of);
    let priority = spec["priority"].as_i64().and_then(|priority| i32::try_from(priority).ok());
    let priority = priority.unwrap_or(sluice_api::DEFAULT_PRIORITY);
    let document = without_status(document);
    Ok(Policy {
        name,
        file: file.to_owned(),
        document,
        priority,
        mode,
        enforcement: Enforcement::Enforce,
        default_action: None,
        failsafe: Failsafe::default(),
        interfaces,
        rules,
    })
}

fn mode_of(mode: &Value) -> Mode {
    match mode.as_str() {
        Some("Native") => Mode::Native,
        Some("Generic") => Mode::Generic,
        _ => Mode::Auto,
    }
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
