//! What became of the entries of a set, in figures and in words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::prefix::PrefixError;
use crate::problem::quote;

/// So many rejected entries are named; a list can have a hundred thousand.
pub(super) const NAMED: usize = 10;
/// Longest piece of an entry that is kept.
const KEPT_CHARACTERS: usize = 200;
/// So many are named in one sentence.
const NAMED_IN_MESSAGE: usize = 3;

/// What became of the entries of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryReport {
    /// Distinct prefixes that are loaded.
    pub entries: usize,
    /// Entries that repeat another one, however it is written.
    pub duplicates: usize,
    /// Loaded prefixes that lie within another one of the set. They stay: the other may go.
    pub overlaps: usize,
    /// Entries that were left out.
    pub rejected: usize,
    /// The first of these, at most ten.
    pub first_rejected: Vec<RejectedEntry>,
}

/// An entry that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedEntry {
    /// Where it stands: `line 7` of a feed, `spec.cidrs[7]` of an object.
    pub place: String,
    /// The entry as it was written, cut if it is long.
    pub text: String,
    /// The kind of mistake.
    pub reason: EntryReason,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl fmt::Display for RejectedEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, text, reason, message } = self;
        write!(formatter, "{place}: {}: {reason}: {message}", quote(text))
    }
}

/// Why an entry was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EntryReason {
    /// It is no address and no prefix, or one that others would read differently.
    InvalidAddress,
    /// Bits behind the prefix length are set.
    HostBitsSet,
    /// It is an IPv4 prefix written as IPv6.
    MappedV4,
    /// It covers more addresses than a feed should ever list.
    TooWide,
    /// A line of a JSON feed that is no record of a prefix.
    InvalidRecord,
}

impl EntryReason {
    /// The name, as status and conditions show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidAddress => "InvalidAddress",
            Self::HostBitsSet => "HostBitsSet",
            Self::MappedV4 => "MappedV4",
            Self::TooWide => "TooWide",
            Self::InvalidRecord => "InvalidRecord",
        }
    }
}

impl fmt::Display for EntryReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl From<PrefixError> for EntryReason {
    fn from(error: PrefixError) -> Self {
        match error {
            PrefixError::InvalidAddress => Self::InvalidAddress,
            PrefixError::HostBitsSet { .. } => Self::HostBitsSet,
            PrefixError::MappedV4 { .. } => Self::MappedV4,
        }
    }
}

impl EntryReport {
    /// Both counts and the first rejected entries in one sentence, for a condition; `None` if all entries
    /// are loaded.
    #[must_use]
    pub fn rejection(&self) -> Option<String> {
        if self.rejected == 0 {
            return None;
        }
        let named = self.first_rejected.iter().take(NAMED_IN_MESSAGE);
        let mut named: Vec<String> = named.map(ToString::to_string).collect();
        let more = self.rejected.saturating_sub(named.len());
        if more > 0 {
            named.push(format!("{more} more"));
        }
        Some(format!("{} entries loaded, {} rejected: {}", self.entries, self.rejected, named.join("; ")))
    }
}

/// What to write instead, as far as that can be known.
pub(super) fn advice(error: PrefixError) -> String {
    match error {
        PrefixError::InvalidAddress => error.to_string(),
        PrefixError::HostBitsSet { network, host } => format!("{error}; write {network} or {host}"),
        PrefixError::MappedV4 { as_v4 } => format!("{error}; write {as_v4}"),
    }
}

pub(super) fn rejected(
    place: String,
    text: &str,
    reason: EntryReason,
    message: impl Into<String>,
) -> RejectedEntry {
    let text = text.chars().take(KEPT_CHARACTERS).collect();
    RejectedEntry { place, text, reason, message: message.into() }
}
