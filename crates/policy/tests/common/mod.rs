//! What the tests of this crate share: the case files and documents to put their values into.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code, missing_docs)]

pub mod policies;
pub mod write;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sluice_policy::{Policy, Problem, parse_document};

/// Every case of a file.
pub fn all_cases<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = format!("{}/tests/cases/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// The cases of a file that have the id; there is at least one.
pub fn cases<T: DeserializeOwned>(file: &str, id: &str) -> Vec<T> {
    let cases: Vec<Value> = all_cases::<Value>(file).into_iter().filter(|case| case["id"] == id).collect();
    assert!(!cases.is_empty(), "{file} has no case {id}");
    cases.into_iter().map(|case| serde_json::from_value(case).unwrap()).collect()
}

/// A document that is fine.
pub fn document() -> Value {
    json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "XdpPolicy",
        "metadata": {"name": "discard"},
        "spec": {
            "interfaces": [{"names": ["eth0"]}],
            "rules": [{
                "name": "udp9",
                "match": {"protocol": "UDP", "destinationPorts": ["9"]},
                "action": {"type": "Drop"},
            }],
        },
    })
}

/// The document with the value at a JSON pointer replaced or added.
pub fn document_with(pointer: &str, value: Value) -> Value {
    let mut document = document();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Array(elements) => elements[key.parse::<usize>().unwrap()] = value,
        Value::Object(fields) => {
            fields.insert(key.to_owned(), value);
        }
        other => panic!("{pointer} leads into {other}"),
    }
    document
}

pub fn parse(document: &Value) -> Result<Policy, Vec<Problem>> {
    parse_document("p.yaml", document)
}

/// The problems as lines.
pub fn lines(problems: &[Problem]) -> String {
    let lines: Vec<String> =
        problems.iter().map(|problem| format!("[{}] {problem}", problem.reason)).collect();
    lines.join("\n")
}
