//! Lists of CPUs as the kernel writes them.

use std::collections::BTreeSet;

use super::number::{RangeError, range};
use crate::problem::{Finding, Reason, quote};

/// One above the largest CPU number: no kernel is built for more.
const MOST_CPUS: u16 = 4096;
/// Longest list, in bytes; the schema says the same.
const LONGEST: usize = 1024;

/// Reads a list such as `2-5,7`. The numbers come sorted, each once.
pub(super) fn check(path: &str, text: &str) -> Result<Vec<u32>, Finding> {
    if text.len() > LONGEST {
        let message = format!("the list has {} bytes, and at most {LONGEST} are read", text.len());
        return Err(refuse(path, message, "Join neighbours to ranges"));
    }
    let mut cpus = BTreeSet::new();
    for part in text.split(',') {
        match range(part) {
            Ok((first, last)) if last < MOST_CPUS => cpus.extend(u32::from(first)..=u32::from(last)),
            Ok((_, last)) => {
                let message = format!("{}: there is no CPU {last}", quote(text));
                return Err(refuse(path, message, "Write numbers from 0 to 4095"));
            }
            Err(RangeError::Reversed { first, last }) => {
                let message =
                    format!("{}: the first CPU of {first}-{last} is larger than the last", quote(text));
                return Err(refuse(path, message, &format!("Write {last}-{first}")));
            }
            Err(RangeError::Unreadable) => {
                return Err(refuse(path, format!("{} is no list of CPUs", quote(text)), fix(text)));
            }
        }
    }
    Ok(cpus.into_iter().collect())
}

fn fix(text: &str) -> &'static str {
    if text.eq_ignore_ascii_case("all") {
        "Write the CPUs, such as \"0-7\": which are there differs by node"
    } else if text.contains(char::is_whitespace) {
        "Remove the white space"
    } else {
        "Write numbers and ranges with commas between, such as \"2-5,7\""
    }
}

fn refuse(path: &str, message: String, fix: &str) -> Finding {
    Finding::new(path, Reason::InvalidCpuList, message, fix)
}
