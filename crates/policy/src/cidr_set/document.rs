//! An `XdpCidrSet` document to a checked set, or to everything that is wrong with it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sluice_api::MAX_CIDRS;

use super::entries::Entries;
use super::report::{EntryReason, EntryReport, advice};
use super::{CidrSet, labels};
use crate::check::{in_order, kind, names};
use crate::prefix::parse;
use crate::problem::{Finding, Findings, Reason, quote};
use crate::schema;

/// Checks a document. Bad entries are left out and counted, unless the set is strict.
pub(crate) fn check(file: &str, document: &Value) -> Result<CidrSet, Vec<Finding>> {
    kind::check_version(document).map_err(|finding| vec![finding])?;
    let mut findings = Findings::default();
    let mut rest = without_entries(document);
    schema::check_cidr_set(&mut rest, &mut findings);
    let name = rest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if !rest["metadata"]["name"].is_null()
        && let Err(finding) = names::object("metadata.name", &name)
    {
        findings.push(finding);
    }
    let labels = labels_of(&rest["metadata"]["labels"], &mut findings);
    let strict = rest["spec"]["strict"] == true;
    let cidrs = document["spec"]["cidrs"].as_array().map_or(&[][..], Vec::as_slice);
    check_length(cidrs, &mut findings);
    let (prefixes, report) = entries(cidrs).finish();
    if strict {
        refuse_rejected(&report, &mut findings);
    }
    let findings = findings.into_list();
    if !findings.is_empty() {
        return Err(in_order(findings));
    }
    Ok(CidrSet { name, file: file.to_owned(), labels, strict, prefixes, report })
}

/// The document with an empty list in place of its entries. What the schema says of one entry takes longer
/// to find out than to read fifty thousand.
fn without_entries(document: &Value) -> Value {
    let empty = Map::new();
    let fields = document.as_object().unwrap_or(&empty).iter();
    let rest = fields.map(|(key, value)| {
        let value = match value {
            Value::Object(spec) if key == "spec" => spec.iter().map(without_list).collect(),
            other => other.clone(),
        };
        (key.clone(), value)
    });
    rest.collect()
}

fn without_list((key, value): (&String, &Value)) -> (String, Value) {
    let value = if key == "cidrs" && value.is_array() { json!([]) } else { value.clone() };
    (key.clone(), value)
}

fn check_length(cidrs: &[Value], findings: &mut Findings) {
    if cidrs.len() > MAX_CIDRS {
        let message = format!("the list has {} elements, and at most {MAX_CIDRS} are allowed", cidrs.len());
        let fix = "Split it into several sets under one label, as `sluicectl cidrset apply` does";
        findings.push(Finding::new("spec.cidrs", Reason::ListTooLong, message, fix));
    }
}

fn labels_of(labels: &Value, findings: &mut Findings) -> BTreeMap<String, String> {
    let mut read = BTreeMap::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        let checked = match value.as_str() {
            Some(value) => labels::check(key, value).map(|()| value),
            None => Err("the value of a label is a text: put it in quotes".to_owned()),
        };
        match checked {
            Ok(value) => drop(read.insert(key.clone(), value.to_owned())),
            Err(message) => {
                let fix = "Correct the label, or leave it out";
                findings.push(Finding::new("metadata.labels", Reason::InvalidValue, message, fix));
            }
        }
    }
    read
}

fn entries(cidrs: &[Value]) -> Entries {
    let mut entries = Entries::with_capacity(cidrs.len().min(MAX_CIDRS));
    for (index, value) in cidrs.iter().enumerate().take(MAX_CIDRS) {
        let place = format_args!("spec.cidrs[{index}]");
        match value.as_str().map(parse) {
            Some(Ok(prefix)) => entries.accept(prefix),
            Some(Err(error)) => {
                entries.reject(place, value.as_str().unwrap_or_default(), error.into(), || advice(error));
            }
            None => entries.reject(place, &value.to_string(), EntryReason::InvalidAddress, || {
                "it is no text; write an address or a prefix, in quotes".to_owned()
            }),
        }
    }
    entries
}

fn refuse_rejected(report: &EntryReport, findings: &mut Findings) {
    let fix = "Correct the entry, or leave strict out to load the rest of the set";
    for entry in &report.first_rejected {
        let message = format!("{}: {}: {}", entry.reason, quote(&entry.text), entry.message);
        findings.push(Finding::new(entry.place.clone(), Reason::EntriesRejected, message, fix));
    }
    let more = report.rejected - report.first_rejected.len();
    if more > 0 {
        let message = format!("{more} more entries are bad");
        findings.push(Finding::new("spec.cidrs", Reason::EntriesRejected, message, fix));
    }
}
