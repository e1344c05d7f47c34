//! Whether a document is a policy at all. If it is something else, nothing else is said about it.

use serde_json::Value;
use sluice_api::API_VERSION;

use crate::problem::{Finding, Reason, quote};

pub(super) fn check(document: &Value) -> Result<(), Finding> {
    if !document.is_object() {
        let fix = "Write a document with apiVersion, kind, metadata and spec";
        return Err(Finding::new("", Reason::WrongKind, "the document is no mapping", fix));
    }
    if let Some(kind) = document["kind"].as_str().filter(|kind| *kind != "XdpPolicy") {
        return Err(wrong_kind(kind));
    }
    check_version(document)
}

/// The version is the same for every kind.
pub(crate) fn check_version(document: &Value) -> Result<(), Finding> {
    if let Some(version) = document["apiVersion"].as_str().filter(|version| *version != API_VERSION) {
        let message = format!("{} is not {API_VERSION}", quote(version));
        return Err(Finding::new(
            "apiVersion",
            Reason::WrongKind,
            message,
            format!("Write apiVersion: {API_VERSION}"),
        ));
    }
    Ok(())
}

fn wrong_kind(kind: &str) -> Finding {
    match kind {
        "XdpSocketPool" => Finding::new(
            "kind",
            Reason::NotImplemented,
            format!("this release does not read {kind} objects"),
            "Remove the document",
        ),
        _ => Finding::new(
            "kind",
            Reason::WrongKind,
            format!("{} is not XdpPolicy", quote(kind)),
            "Keep other objects out of the policy directory; write one document for each policy, separated by ---",
        ),
    }
}
