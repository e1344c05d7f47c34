//! Lengths of packets as users write them.

use serde_json::Value;

use super::number::{RangeError, range};
use crate::LengthRange;
use crate::problem::{Finding, Reason, quote};

/// Reads a length or a range of lengths.
pub(super) fn check(path: &str, value: &Value) -> Result<LengthRange, Finding> {
    if let Value::String(text) = value {
        return parse(path, text);
    }
    match value.as_u64().and_then(|length| u16::try_from(length).ok()) {
        Some(length) => Ok(LengthRange { first: length, last: length }),
        None => Err(refuse(path, format!("{value} is no length of a packet"), FIX)),
    }
}

const FIX: &str = "Write a length from 0 to 65535, or a range such as \"0-64\"";

fn parse(path: &str, text: &str) -> Result<LengthRange, Finding> {
    match range(text) {
        Ok((first, last)) => Ok(LengthRange { first, last }),
        Err(RangeError::Reversed { first, last }) => {
            let message = format!("{}: the first length is larger than the last", quote(text));
            Err(refuse(path, message, &format!("Write \"{last}-{first}\"")))
        }
        Err(RangeError::Unreadable) => {
            Err(refuse(path, format!("{} is no length and no range of lengths", quote(text)), FIX))
        }
    }
}

fn refuse(path: &str, message: String, fix: &str) -> Finding {
    Finding::new(path, Reason::InvalidLength, message, fix)
}
