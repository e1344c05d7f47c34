//! Fields and values of the final shape that this release cannot carry out. They are refused by
//! name: a rule that lost one of its conditions would be wider than its author meant.

use serde_json::Value;

use crate::problem::{Finding, Reason};

const SPEC: &[&str] = &["defaultAction", "failsafe", "remedies", "rollout"];
const INTERFACE: &[&str] = &["defaultRoute"];
const MATCH: &[&str] = &[
    "destinationSetSelector",
    "destinationSets",
    "destinations",
    "fragment",
    "icmp",
    "ipVersion",
    "length",
    "not",
    "sourcePorts",
    "sourceSetSelector",
    "sourceSets",
    "sources",
    "tcpFlags",
    "vlan",
];
const ACTION: &[&str] = &["mark", "rateLimit", "socket", "steer"];
const ACTION_TYPES: &[&str] = &["Mark", "RateLimit", "Socket", "Steer"];

/// Every such field of the document.
pub(super) fn find(document: &Value) -> Vec<Finding> {
    let spec = &document["spec"];
    let mut findings = Vec::new();
    fields(&mut findings, spec, "spec", SPEC);
    if spec["nodeSelector"]
        .as_object()
        .is_some_and(|selector| !selector.is_empty())
    {
        findings.push(refuse("spec.nodeSelector", "this release"));
    }
    values(
        &mut findings,
        &spec["enforcement"],
        "spec.enforcement",
        &["DryRun"],
    );
    values(
        &mut findings,
        &spec["foreignPrograms"],
        "spec.foreignPrograms",
        &["Chain"],
    );
    for (index, entry) in elements(&spec["interfaces"]) {
        fields(
            &mut findings,
            entry,
            &format!("spec.interfaces[{index}]"),
            INTERFACE,
        );
    }
    for (index, rule) in elements(&spec["rules"]) {
        let path = format!("spec.rules[{index}]");
        fields(&mut findings, &rule["match"], &format!("{path}.match"), MATCH);
        fields(&mut findings, &rule["action"], &format!("{path}.action"), ACTION);
        values(
            &mut findings,
            &rule["action"]["type"],
            &format!("{path}.action.type"),
            ACTION_TYPES,
        );
    }
    findings
}

fn elements(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

fn fields(findings: &mut Vec<Finding>, object: &Value, path: &str, names: &[&str]) {
    for name in names.iter().filter(|name| !object[**name].is_null()) {
        findings.push(refuse(&format!("{path}.{name}"), "this release"));
    }
}

fn values(findings: &mut Vec<Finding>, value: &Value, path: &str, names: &[&str]) {
    if let Some(name) = value.as_str().filter(|name| names.contains(name)) {
        let message = format!("this release cannot carry out {name}");
        findings.push(Finding::new(
            path,
            Reason::NotImplemented,
            message,
            "Use another value",
        ));
    }
}

fn refuse(path: &str, who: &str) -> Finding {
    let message = format!("{who} cannot carry out this field");
    Finding::new(path, Reason::NotImplemented, message, "Remove it")
}
