//! Lists of a document, element by element.

use serde_json::Value;

use crate::problem::{Finding, Findings};

/// The elements with their positions; none if it is no list.
pub(super) fn elements(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}

/// Reads each element. Null stands for an element that was refused before.
pub(super) fn each<T>(
    list: &Value,
    path: &str,
    findings: &mut Findings,
    read: impl Fn(&str, &Value) -> Result<T, Finding>,
) -> Vec<T> {
    let mut values = Vec::new();
    for (index, element) in elements(list).filter(|(_, element)| !element.is_null()) {
        match read(&format!("{path}[{index}]"), element) {
            Ok(value) => values.push(value),
            Err(finding) => findings.push(finding),
        }
    }
    values
}

/// As [`each`], for elements that the schema holds to be texts.
pub(super) fn each_text<T>(
    list: &Value,
    path: &str,
    findings: &mut Findings,
    read: impl Fn(&str, &str) -> Result<T, Finding>,
) -> Vec<T> {
    each(list, path, findings, |path, element| read(path, element.as_str().unwrap_or_default()))
}
