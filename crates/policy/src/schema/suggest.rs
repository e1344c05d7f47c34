//! What a user who wrote an unknown word may have meant.

use serde_json::Value;

/// A hint for a field that does not exist: near in spelling, or right one level down or up.
pub(super) fn field(key: &str, schema: &Value, parent: &Value) -> String {
    let here = names(schema);
    if let Some(near) = nearest(key, &here) {
        return format!("Did you mean {near}?");
    }
    for child in &here {
        if let Some(near) = nearest(key, &names(&schema["properties"][child])) {
            return format!("Did you mean {child}.{near}? Check the indentation");
        }
    }
    if let Some(near) = nearest(key, &names(parent)) {
        return format!("Did you mean {near}, one level up? Check the indentation");
    }
    format!("Remove it; the fields here are {}", here.join(", "))
}

/// A hint for a value that is not allowed.
pub(crate) fn value(text: &str, allowed: &[&str]) -> String {
    match nearest(text, allowed) {
        Some(near) => format!("Did you mean {near}?"),
        None => format!("Write one of {}", allowed.join(", ")),
    }
}

fn names(schema: &Value) -> Vec<&str> {
    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// The candidate that differs least, if it differs by no more than a third of its letters.
fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase();
    candidates
        .iter()
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_lowercase()), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3).min(3))
        .min()
        .map(|(_, candidate)| candidate)
}
