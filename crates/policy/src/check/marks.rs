//! Settings of a mark.

use serde_json::Value;

use crate::Mark;
use crate::problem::{Finding, Findings, Reason, quote};

/// Reads `mark`. Absent: something about it was refused.
pub(super) fn check(path: &str, value: &Value, findings: &mut Findings) -> Option<Mark> {
    // The schema holds the numbers to 32 bits.
    let number = |field: &str| value[field].as_u64().and_then(|number| u32::try_from(number).ok());
    let (mark, priority) = (number("mark"), number("priority"));
    if value.as_object().is_some_and(serde_json::Map::is_empty) && !findings.is_touched(path) {
        let fix = "Give mark, priority or class";
        findings.push(Finding::new(path, Reason::MissingField, "it changes nothing", fix));
        return None;
    }
    let class = match value["class"].as_str() {
        None => None,
        Some(text) => Some(findings.keep(class(&format!("{path}.class"), text))?),
    };
    if class.is_some() && priority.is_some() {
        let message = "class and priority are the same number of the kernel's packet";
        let path = format!("{path}.class");
        findings.push(Finding::new(path, Reason::MutuallyExclusive, message, "Remove one of them"));
        return None;
    }
    Some(Mark { mark, priority, class })
}

/// `major:minor`, as `tc class show` writes it. A major number of zero is no queueing discipline.
fn class(path: &str, text: &str) -> Result<u32, Finding> {
    let number = |digits: &str| {
        let is_plain = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| is_plain)
    };
    let parts = text.split_once(':').and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
    match parts {
        Some((major, minor)) if major > 0 => Ok(major << 16 | minor),
        _ => {
            let message = format!("{} is no traffic class", quote(text));
            let fix = "Write it as tc shows it: major:minor in hexadecimal, from 1:0 to ffff:ffff, such as \"1:10\"";
            Err(Finding::new(path, Reason::InvalidClass, message, fix))
        }
    }
}
