//! A feed file that lies in the policy directory: its name is the set's name, and its first comment lines
//! may give the set labels.

use std::collections::BTreeMap;
use std::path::Path;

use super::labels::parse_label;
use super::{CidrSet, MAX_FEED_BYTES, feed};
use crate::check::names::is_object_name;
use crate::problem::{Finding, Reason, quote};

/// The word in front of the labels.
const LABELS: &str = "labels:";

/// The name of the set that the file holds, if it can be one.
pub(crate) fn name_of(file: &str) -> Option<&str> {
    Path::new(file).file_stem()?.to_str()
}

/// Reads a feed file, with the importer's ordinary limits.
pub(crate) fn from_feed(file: &str, bytes: &[u8]) -> Result<CidrSet, Finding> {
    let name = name_of(file).unwrap_or_default();
    if !is_object_name(name) {
        return Err(Finding::new(
            "",
            Reason::InvalidName,
            format!("the set is named after its file, and {} is no valid name", quote(name)),
            "Name the file with lower-case letters, digits, - and ., such as drop-list.cidrs",
        ));
    }
    if bytes.len() > MAX_FEED_BYTES {
        let message = format!("the file has {} bytes, and at most {MAX_FEED_BYTES} are read", bytes.len());
        return Err(Finding::new("", Reason::FileTooLarge, message, "Split it"));
    }
    let labels = labels(bytes)?;
    let feed = feed::read(bytes, feed::Options::default()).map_err(feed::FeedError::into_finding)?;
    let (prefixes, report) = (feed.prefixes, feed.report);
    Ok(CidrSet { name: name.to_owned(), file: file.to_owned(), labels, strict: false, prefixes, report })
}

/// `# labels: list=big, team=edge` among the comment lines before the first entry.
fn labels(bytes: &[u8]) -> Result<BTreeMap<String, String>, Finding> {
    let mut labels = BTreeMap::new();
    let comments = bytes.split(|byte| *byte == b'\n').map_while(comment);
    for given in comments.filter_map(|comment| comment.strip_prefix(LABELS)) {
        for label in given.split(',').map(str::trim).filter(|label| !label.is_empty()) {
            let (key, value) = parse_label(label).map_err(|message| {
                let fix = "Write the labels as `# labels: list=big, team=edge`, or leave the line out";
                Finding::new("", Reason::InvalidValue, message, fix)
            })?;
            labels.insert(key, value);
        }
    }
    Ok(labels)
}

/// The text of a comment line, empty for a blank line or one that is not UTF-8; `None` for any other line.
fn comment(line: &[u8]) -> Option<&str> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    let signs = [&b"#"[..], b";", b"//"];
    let text = if line.is_empty() { line } else { signs.iter().find_map(|sign| line.strip_prefix(*sign))? };
    Some(std::str::from_utf8(text).unwrap_or_default().trim())
}
