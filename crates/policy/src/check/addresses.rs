//! Prefixes in a policy: what needs a correction is refused, with the correction.

use ipnet::IpNet;

use super::prefix::{self, PrefixError};
use crate::problem::{Finding, Reason, quote};

/// Reads one element of a list of prefixes.
pub(super) fn check(path: &str, text: &str) -> Result<IpNet, Finding> {
    prefix::parse(text).map_err(|error| {
        let message = |rest: String| format!("{} {rest}", quote(text));
        match error {
            PrefixError::InvalidAddress => Finding::new(
                path,
                Reason::InvalidAddress,
                message("is no address and no prefix".to_owned()),
                fix(text),
            ),
            PrefixError::HostBitsSet { network, host } => Finding::new(
                path,
                Reason::HostBitsSet,
                message(format!("has bits set behind the first {}", network.prefix_len())),
                format!("Write {network} for the network, or {host} for the address alone"),
            ),
            PrefixError::MappedV4 { as_v4 } => Finding::new(
                path,
                Reason::MappedV4,
                message("is IPv4 written as IPv6, and would match no packet".to_owned()),
                format!("Write {as_v4}"),
            ),
        }
    })
}

fn fix(text: &str) -> &'static str {
    let has_leading_zero = text.split(['.', '/']).any(|part| {
        part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit())
    });
    if has_leading_zero {
        "Write the numbers without leading zeros: some programs read them as octal"
    } else if text.contains(char::is_whitespace) {
        "Remove the white space"
    } else {
        "Write a prefix or an address, such as 192.0.2.0/24 or 2001:db8::1"
    }
}
