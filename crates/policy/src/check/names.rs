//! Names of objects and rules.

use crate::failsafe;
use crate::problem::{Finding, Findings, Reason, quote};

/// Longest name of an object in Kubernetes.
const MAX_OBJECT_NAME: usize = 253;
/// Longest name of a rule.
const MAX_RULE_NAME: usize = 63;

/// The name of a policy: verdicts and counters bear it.
pub(super) fn policy(path: &str, name: &str) -> Result<String, Finding> {
    if name == failsafe::POLICY {
        let message =
            format!("{} is what the built-in failsafe is called in verdicts and counters", quote(name));
        return Err(Finding::new(path, Reason::InvalidName, message, "Use another name"));
    }
    object(path, name)
}

/// The name of any object of ours: parts as for [`check_rule`], joined by dots.
pub(crate) fn object(path: &str, name: &str) -> Result<String, Finding> {
    if is_object_name(name) {
        return Ok(name.to_owned());
    }
    let fix = format!(
        "Use at most {MAX_OBJECT_NAME} lower-case letters, digits, - and ., with a letter or digit at both ends of each part"
    );
    Err(refuse(path, name, fix))
}

/// Whether Kubernetes takes it as the name of an object.
pub(crate) fn is_object_name(name: &str) -> bool {
    name.len() <= MAX_OBJECT_NAME && name.split('.').all(is_label)
}

/// A rule's name: what Kubernetes calls a label.
pub(super) fn check_rule(path: &str, name: &str, findings: &mut Findings) {
    if name.len() > MAX_RULE_NAME || !is_label(name) {
        let fix = format!(
            "Use at most {MAX_RULE_NAME} lower-case letters, digits and -, with a letter or digit at both ends"
        );
        findings.push(refuse(path, name, fix));
    }
}

fn refuse(path: &str, name: &str, fix: String) -> Finding {
    let message = if name.is_empty() {
        "the name is empty".to_owned()
    } else {
        format!("{} ({} bytes) is no valid name", quote(name), name.len())
    };
    Finding::new(path, Reason::InvalidName, message, fix)
}

fn is_label(part: &str) -> bool {
    let is_end =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let bytes = part.as_bytes();
    is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| is_end(Some(byte)) || *byte == b'-')
}
