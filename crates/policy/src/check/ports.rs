//! Ports as users write them.

use serde_json::Value;

use super::number::{RangeError, range};
use crate::PortRange;
use crate::problem::{Finding, Reason, quote};

/// Reads one element of a list of ports.
pub(super) fn check(path: &str, value: &Value) -> Result<PortRange, Finding> {
    if let Value::String(text) = value {
        return parse(path, text);
    }
    match value.as_u64().and_then(|port| u16::try_from(port).ok()) {
        Some(port) => Ok(PortRange { first: port, last: port }),
        None => Err(refuse(path, format!("{value} is no port"), "Write a port from 0 to 65535")),
    }
}

fn parse(path: &str, text: &str) -> Result<PortRange, Finding> {
    match range(text) {
        Ok((first, last)) => Ok(PortRange { first, last }),
        Err(RangeError::Reversed { first, last }) => Err(refuse(
            path,
            format!("{}: the first port is larger than the last", quote(text)),
            &format!("Write \"{last}-{first}\""),
        )),
        Err(RangeError::Unreadable) => {
            Err(refuse(path, format!("{} is no port and no range of ports", quote(text)), fix(text)))
        }
    }
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
