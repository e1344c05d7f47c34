//! Ports as users write them.

use serde_json::Value;

use crate::PortRange;
use crate::problem::{Finding, Reason, quote};

/// Reads one element of a list of ports. Null stands for an element that was refused before.
pub(super) fn check(path: &str, value: &Value) -> Result<Option<PortRange>, Finding> {
    match value {
        Value::Number(number) => match number.as_u64().and_then(|port| u16::try_from(port).ok()) {
            Some(port) => Ok(Some(PortRange { first: port, last: port })),
            None => Err(refuse(path, format!("{number} is no port"), "Write a port from 0 to 65535")),
        },
        Value::String(text) => parse(path, text).map(Some),
        _ => Ok(None),
    }
}

fn parse(path: &str, text: &str) -> Result<PortRange, Finding> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (port(first), port(last)) {
        (Some(first), Some(last)) if first <= last => Ok(PortRange { first, last }),
        (Some(first), Some(last)) => Err(refuse(
            path,
            format!("{}: the first port is larger than the last", quote(text)),
            &format!("Write \"{last}-{first}\""),
        )),
        _ => Err(refuse(path, format!("{} is no port and no range of ports", quote(text)), fix(text))),
    }
}

/// Decimal digits only, without leading zeros: other readings of a number exist, but not here.
fn port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

fn fix(text: &str) -> &'static str {
    if text.contains(',') {
        "Write each port as an element of its own, such as [\"80\", \"443\"]"
    } else if text.chars().any(char::is_alphabetic) {
        "Write the number; names of services are not read"
    } else if text.contains(char::is_whitespace) {
        "Remove the white space"
    } else {
        "Write a port from 0 to 65535, or a range such as \"100-200\""
    }
}

fn refuse(path: &str, message: String, fix: &str) -> Finding {
    Finding::new(path, Reason::InvalidPort, message, fix)
}
