//! Labels as users write them, held to what Kubernetes allows.

use crate::check::names::is_object_name;

/// The label that all sets of one list have; its value is the list's name.
pub const LIST_LABEL: &str = "sluice.dev/list";

/// Longest value of a label, and longest name in its key.
const MAX_LENGTH: usize = 63;
/// Longest domain before the `/` of a key.
const MAX_DOMAIN: usize = 253;

/// Reads `key=value`.
///
/// # Errors
/// In words, if it is no label.
pub fn parse_label(text: &str) -> Result<(String, String), String> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(format!("{text:?} is no label: write key=value"));
    };
    check(key, value)?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Whether a list can have the name: its sets are named after it, and carry it as a label.
///
/// # Errors
/// In words, if it cannot.
pub fn check_list_name(name: &str) -> Result<(), String> {
    if is_object_name(name) && is_word(name) {
        return Ok(());
    }
    Err(format!(
        "use at most {MAX_LENGTH} lower-case letters, digits, - and ., with a letter or digit at both ends"
    ))
}

/// Whether Kubernetes takes it.
pub(super) fn check(key: &str, value: &str) -> Result<(), String> {
    let (domain, name) = key.split_once('/').map_or((None, key), |(domain, name)| (Some(domain), name));
    let is_domain = |domain: &str| domain.len() <= MAX_DOMAIN && domain.split('.').all(is_word);
    if name.is_empty() || !is_word(name) || !domain.is_none_or(is_domain) {
        return Err(format!(
            "{key:?} is no key of a label: use letters, digits, -, _ and ., at most {MAX_LENGTH}, as in team or example.org/team"
        ));
    }
    if !value.is_empty() && !is_word(value) {
        return Err(format!(
            "{value:?} is no value of a label: use letters, digits, -, _ and ., at most {MAX_LENGTH}"
        ));
    }
    Ok(())
}

fn is_word(text: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= MAX_LENGTH
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::parse_label;

    #[test]
    fn labels_are_what_kubernetes_takes() {
        for good in ["list=big", "sluice.dev/list=drop", "a=", "A_1.b=x-y"] {
            assert!(parse_label(good).is_ok(), "{good}");
        }
        let long = format!("a={}", "x".repeat(64));
        for bad in ["list", "=big", "a b=c", "list=-x", "/a=b", "a/b/c=d", "list=b=c", "a=ü", long.as_str()]
        {
            assert!(parse_label(bad).is_err(), "{bad}");
        }
    }
}
