//! Fields and values of the final shape that this release cannot carry out. They are refused by
//! name: a rule that lost one of its conditions would be wider than its author meant.

use serde_json::Value;

use super::list::elements;
use crate::problem::{Finding, Findings, Reason};

const SPEC: &[&str] = &["remedies", "rollout"];
const FAILSAFE: &[&str] = &["disconnectSeconds"];
const INTERFACE: &[&str] = &["defaultRoute"];

const LEAVE_OUT: &str = "Leave it out";

/// Every such field of the document.
pub(super) fn find(document: &Value, findings: &mut Findings) {
    let mut search = Search { findings };
    let spec = &document["spec"];
    search.fields(spec, "spec", SPEC, LEAVE_OUT);
    if spec["nodeSelector"].as_object().is_some_and(|selector| !selector.is_empty()) {
        search.fields(spec, "spec", &["nodeSelector"], LEAVE_OUT);
    }
    search.fields(&spec["failsafe"], "spec.failsafe", FAILSAFE, LEAVE_OUT);
    search.values(&spec["foreignPrograms"], "spec.foreignPrograms", &["Chain"], "Write Refuse");
    for (index, entry) in elements(&spec["interfaces"]) {
        search.fields(entry, &format!("spec.interfaces[{index}]"), INTERFACE, LEAVE_OUT);
    }
}

struct Search<'a> {
    findings: &'a mut Findings,
}

impl Search<'_> {
    fn fields(&mut self, object: &Value, path: &str, names: &[&str], fix: &str) {
        for name in names.iter().filter(|name| !object[**name].is_null()) {
            self.refuse(format!("{path}.{name}"), name, fix);
        }
    }

    fn values(&mut self, value: &Value, path: &str, names: &[&str], fix: &str) {
        if let Some(name) = value.as_str().filter(|name| names.contains(name)) {
            self.refuse(path.to_owned(), name, fix);
        }
    }

    fn refuse(&mut self, path: String, name: &str, fix: &str) {
        let message = format!("{name} is not implemented in this release");
        self.findings.push(Finding::new(path, Reason::NotImplemented, message, fix));
    }
}
