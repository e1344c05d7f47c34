//! Sets of addresses that rules name: what an `XdpCidrSet` or a feed file holds, and what was wrong with
//! it. Nothing here fetches a feed or writes a file.

mod document;
mod entries;
pub mod feed;
mod file;
mod labels;
mod report;
pub mod shards;

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

pub(crate) use document::check;
pub(crate) use file::{from_feed, name_of};
pub use labels::{LIST_LABEL, check_list_name, parse_label};
pub use report::{EntryReason, EntryReport, RejectedEntry};
pub use sluice_api::MAX_CIDRS;

/// Largest feed file that is read, in bytes: some million prefixes of the longest kind.
pub const MAX_FEED_BYTES: usize = 128 << 20;

/// A set of addresses, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CidrSet {
    /// `metadata.name`.
    pub name: String,
    /// The file that it came from.
    pub file: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// Whether a bad entry would have refused the whole set.
    pub strict: bool,
    /// The prefixes, sorted, each once, without host bits. Some may lie within others. None: the set
    /// matches nothing.
    pub prefixes: Vec<IpNet>,
    /// What became of the entries.
    pub report: EntryReport,
}
