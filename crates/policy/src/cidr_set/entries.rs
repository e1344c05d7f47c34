//! Collects entries one by one, and counts what became of each.

use std::fmt::Display;

use ipnet::IpNet;

use super::report::{EntryReason, EntryReport, NAMED, RejectedEntry, rejected};

/// The entries so far.
#[derive(Debug, Default)]
pub(super) struct Entries {
    prefixes: Vec<IpNet>,
    rejected: usize,
    first_rejected: Vec<RejectedEntry>,
}

impl Entries {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { prefixes: Vec::with_capacity(capacity), ..Self::default() }
    }

    pub fn accept(&mut self, prefix: IpNet) {
        self.prefixes.push(prefix);
    }

    /// Words are made for the first few only: a feed can be wrong in a million lines.
    pub fn reject(
        &mut self,
        place: impl Display,
        text: &str,
        reason: EntryReason,
        message: impl FnOnce() -> String,
    ) {
        self.rejected += 1;
        if self.first_rejected.len() < NAMED {
            self.first_rejected.push(rejected(place.to_string(), text, reason, message()));
        }
    }

    pub fn accepted(&self) -> usize {
        self.prefixes.len()
    }

    pub fn rejected(&self) -> usize {
        self.rejected
    }

    /// The prefixes, sorted, each once, and the report.
    pub fn finish(self) -> (Vec<IpNet>, EntryReport) {
        let Self { mut prefixes, rejected, first_rejected } = self;
        let accepted = prefixes.len();
        prefixes.sort_unstable();
        prefixes.dedup();
        prefixes.shrink_to_fit();
        let (entries, overlaps) = (prefixes.len(), overlaps(&prefixes));
        let duplicates = accepted - entries;
        (prefixes, EntryReport { entries, duplicates, overlaps, rejected, first_rejected })
    }
}

/// In this order a prefix comes right before all that lies within it, so the outermost one is enough to know.
fn overlaps(sorted: &[IpNet]) -> usize {
    let mut outermost: Option<IpNet> = None;
    let within_another = sorted.iter().filter(|prefix| match outermost {
        Some(outer) if outer.contains(*prefix) => true,
        _ => {
            outermost = Some(**prefix);
            false
        }
    });
    within_another.count()
}
