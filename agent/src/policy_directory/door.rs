//! What this agent accepts: good policies that it can carry out as a whole. Pure.

use serde_json::Value;
use sluice_policy::{ParsedFile, Policy, Problem};

/// Reads the policies of a file.
pub fn parse_file(file: &str, bytes: &[u8]) -> ParsedFile {
    let mut parsed = sluice_policy::parse_file(file, bytes);
    for document in &mut parsed.documents {
        let result = std::mem::replace(&mut document.result, Err(Vec::new()));
        document.result = result.and_then(accept);
    }
    parsed
}

/// Reads one document that was accepted before, maybe by another release.
pub fn parse_document(file: &str, document: &Value) -> Result<Policy, Vec<Problem>> {
    sluice_policy::parse_document(file, document).and_then(accept)
}

/// A rule that is left out would make way for those behind it: all or nothing.
fn accept(policy: Policy) -> Result<Policy, Vec<Problem>> {
    let problems = policy.not_carried_out();
    if problems.is_empty() { Ok(policy) } else { Err(problems) }
}
