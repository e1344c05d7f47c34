//! What was found in a feed, for people and for scripts.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;
use sluice_policy::cidr_set::{
    EntryReport,
    feed::{Feed, FeedError},
};

use crate::output::clean;

/// What was found in a feed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<usize>,
    #[serde(flatten)]
    pub entries: EntryReport,
    pub converted: usize,
    pub masked: usize,
    /// Why nothing of it is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

/// Why nothing of a feed is used.
#[derive(Serialize)]
pub struct Refused {
    reason: &'static str,
    message: String,
    fix: &'static str,
}

impl From<&Feed> for FeedReport {
    fn from(feed: &Feed) -> Self {
        let Feed { report, lines, converted, masked, .. } = feed;
        Self {
            lines: Some(*lines),
            entries: report.clone(),
            converted: *converted,
            masked: *masked,
            refused: None,
        }
    }
}

impl From<&FeedError> for FeedReport {
    fn from(error: &FeedError) -> Self {
        let (reason, message, fix) = (error.reason().as_str(), error.to_string(), error.remedy());
        let entries = match error {
            FeedError::MostlyRejected { report, .. } => report.clone(),
            _ => EntryReport::default(),
        };
        let refused = Some(Refused { reason, message, fix });
        Self { lines: None, entries, converted: 0, masked: 0, refused }
    }
}

impl Display for FeedReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let EntryReport { entries, duplicates, overlaps, rejected, first_rejected } = &self.entries;
        write!(f, "{} from {}", counted(*entries, "entry", "entries"), lines(self.lines))?;
        for (count, what) in [
            (duplicates, "repeated"),
            (overlaps, "within another"),
            (&self.converted, "converted from IPv6 to IPv4"),
            (&self.masked, "with host bits taken off"),
            (rejected, "left out"),
        ] {
            if *count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        writeln!(f)?;
        for entry in first_rejected {
            writeln!(f, "  left out: {}", clean(&entry.to_string()))?;
        }
        let more = rejected - first_rejected.len();
        if more > 0 { writeln!(f, "  and {more} more") } else { Ok(()) }
    }
}

fn lines(lines: Option<usize>) -> String {
    counted(lines.unwrap_or(0), "line", "lines")
}

/// `1 shard`, `2 shards`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
