//! Numbers and ranges as users write them. Other readings of a number exist, but not here.

use std::str::FromStr;

/// Decimal digits only, without leading zeros.
pub(super) fn plain<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// Why a text is no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RangeError {
    /// It is no number and no two numbers with a hyphen between.
    Unreadable,
    /// The first number is larger than the last.
    Reversed {
        /// The larger number, which comes first.
        first: u16,
        /// The smaller number, which comes last.
        last: u16,
    },
}

/// One number, or the first and the last of a range.
pub(super) fn range(text: &str) -> Result<(u16, u16), RangeError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (plain(first), plain(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        (Some(first), Some(last)) => Err(RangeError::Reversed { first, last }),
        _ => Err(RangeError::Unreadable),
    }
}
