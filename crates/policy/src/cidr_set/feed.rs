//! Reads a published list of addresses: one prefix or address a line with comments, or one JSON object a
//! line. What is no list (an error page, half a download, nothing) is refused as a whole.

mod line;

use ipnet::IpNet;

use super::EntryReport;
use super::entries::Entries;
use super::report::{EntryReason, advice};
use crate::prefix::{PrefixError, parse};
use crate::problem::{Finding, Reason};
use line::Line;

/// Prefixes wider than these need a flag: lists have carried `0.0.0.0/0` and whole `/8` networks by mistake.
const WIDEST: (u8, u8) = (8, 16);

/// Room is made beforehand for as many entries as there are lines of this length, but not for more than these.
const LINE_BYTES: usize = 16;
const MOST_EXPECTED: usize = 1 << 20;

/// What a caller takes on itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A feed without entries is an empty set, not a failure of its publisher.
    pub allow_empty: bool,
    /// Prefixes wider than /8, or /16 for IPv6, are meant.
    pub allow_wide: bool,
    /// `192.0.2.1/24` means `192.0.2.0/24`.
    pub mask_host_bits: bool,
}

/// A feed that can be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feed {
    /// The prefixes, sorted, each once.
    pub prefixes: Vec<IpNet>,
    /// What became of the entries.
    pub report: EntryReport,
    /// Lines of the feed, comments and blank ones included.
    pub lines: usize,
    /// IPv4 prefixes that were written as IPv6 and loaded as IPv4.
    pub converted: usize,
    /// Prefixes whose host bits were taken off.
    pub masked: usize,
}

/// Why a feed is refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    /// It is compressed, or not text at all.
    #[error("the feed is not text: {0}")]
    NotText(&'static str),
    /// It ends too early.
    #[error("the feed is cut off: {read} records were read{}", counted(*.expected))]
    TruncatedFeed {
        /// Records that it says it has.
        expected: Option<u64>,
        /// Records that were there.
        read: u64,
    },
    /// There is no entry in it.
    #[error("the feed has no entry (lines: {lines})")]
    EmptyFeed {
        /// Comments and blank lines.
        lines: usize,
    },
    /// It is something else than a list, or badly damaged.
    #[error(
        "more lines are bad ({}) than good ({accepted}), so this is no list or a damaged one{}",
        .report.rejected,
        first(report)
    )]
    MostlyRejected {
        /// Lines that could be loaded.
        accepted: usize,
        /// The others.
        report: EntryReport,
    },
}

impl FeedError {
    /// The kind of problem.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            Self::NotText(_) => Reason::NotText,
            Self::TruncatedFeed { .. } => Reason::TruncatedFeed,
            Self::EmptyFeed { .. } => Reason::EmptyFeed,
            Self::MostlyRejected { .. } => Reason::MostlyRejected,
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::NotText(_) => "unpack it, and give it as text with one prefix a line",
            Self::TruncatedFeed { .. } => "fetch it again",
            Self::EmptyFeed { .. } => "look at the feed: it may have moved, or its server be failing",
            Self::MostlyRejected { .. } => "look at what was fetched: it may be an error page",
        }
    }

    pub(super) fn into_finding(self) -> Finding {
        Finding::new("", self.reason(), self.to_string(), capitalised(self.remedy()))
    }
}

/// Reads a feed.
///
/// # Errors
/// If nothing of it should be used.
pub fn read(bytes: &[u8], options: Options) -> Result<Feed, FeedError> {
    let mut reader = Reader { options, ..Reader::new(bytes)? };
    for text in line::of(bytes) {
        reader.line(&text)?;
    }
    reader.finish()
}

struct Reader {
    options: Options,
    entries: Entries,
    lines: usize,
    converted: usize,
    masked: usize,
    /// Objects with a prefix.
    records: u64,
    /// How many of them the feed says it has.
    expected: Option<u64>,
}

impl Reader {
    fn new(bytes: &[u8]) -> Result<Self, FeedError> {
        line::check_text(bytes).map_err(FeedError::NotText)?;
        let entries = Entries::with_capacity((bytes.len() / LINE_BYTES).min(MOST_EXPECTED));
        let options = Options::default();
        Ok(Self { options, entries, lines: 0, converted: 0, masked: 0, records: 0, expected: None })
    }

    fn line(&mut self, text: &line::Text<'_>) -> Result<(), FeedError> {
        self.lines += 1;
        match text.read() {
            Line::Nothing | Line::Metadata { records: None } => {}
            Line::Entry(entry) => self.entry(entry),
            Line::Record(entry) => {
                self.records += 1;
                self.entry(&entry);
            }
            Line::Metadata { records: Some(more) } => {
                // Two lists that were put together have one such line each.
                self.expected = Some(self.expected.unwrap_or(0).saturating_add(more));
            }
            Line::CutOff => {
                return Err(FeedError::TruncatedFeed { expected: self.expected, read: self.records });
            }
            Line::Bad { text, reason, message } => self.reject(&text, reason, || message.to_owned()),
        }
        Ok(())
    }

    fn entry(&mut self, text: &str) {
        match parse(text) {
            Ok(prefix) => {
                self.load(text, prefix);
            }
            Err(PrefixError::MappedV4 { as_v4 }) => {
                self.load_mapped(text, as_v4.into());
            }
            Err(PrefixError::HostBitsSet { network, .. }) if self.options.mask_host_bits => {
                let is_mapped = matches!(network, IpNet::V4(_)) && text.contains(':');
                let is_loaded =
                    if is_mapped { self.load_mapped(text, network) } else { self.load(text, network) };
                self.masked += usize::from(is_loaded);
            }
            Err(error) => self.reject(text, error.into(), || advice(error)),
        }
    }

    /// Returns whether it was loaded.
    fn load_mapped(&mut self, text: &str, as_v4: IpNet) -> bool {
        if as_v4.prefix_len() == 0 {
            let message = || "it is every IPv4 address; write 0.0.0.0/0 if that is meant".to_owned();
            self.reject(text, EntryReason::MappedV4, message);
            return false;
        }
        let is_loaded = self.load(text, as_v4);
        self.converted += usize::from(is_loaded);
        is_loaded
    }

    /// Returns whether it was loaded.
    fn load(&mut self, text: &str, prefix: IpNet) -> bool {
        let widest = if matches!(prefix, IpNet::V4(_)) { WIDEST.0 } else { WIDEST.1 };
        let is_meant = self.options.allow_wide || prefix.prefix_len() >= widest;
        if is_meant {
            self.entries.accept(prefix);
        } else {
            self.reject(text, EntryReason::TooWide, || {
                format!(
                    "it is wider than /{widest}, which is rarely meant; `sluicectl cidrset apply --allow-wide` loads it"
                )
            });
        }
        is_meant
    }

    fn reject(&mut self, text: &str, reason: EntryReason, message: impl FnOnce() -> String) {
        self.entries.reject(format_args!("line {}", self.lines), text, reason, message);
    }

    fn finish(self) -> Result<Feed, FeedError> {
        let Self { entries, lines, converted, masked, records, expected, options } = self;
        if expected.is_some_and(|expected| expected != records) {
            return Err(FeedError::TruncatedFeed { expected, read: records });
        }
        let (accepted, is_mostly_bad) = (entries.accepted(), entries.rejected() > entries.accepted());
        let (prefixes, report) = entries.finish();
        if is_mostly_bad {
            return Err(FeedError::MostlyRejected { accepted, report });
        }
        if prefixes.is_empty() && !options.allow_empty {
            return Err(FeedError::EmptyFeed { lines });
        }
        Ok(Feed { prefixes, report, lines, converted, masked })
    }
}

fn counted(expected: Option<u64>) -> String {
    expected.map(|expected| format!(", and it says that it has {expected}")).unwrap_or_default()
}

fn first(report: &EntryReport) -> String {
    report.first_rejected.first().map(|entry| format!("; {entry}")).unwrap_or_default()
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
