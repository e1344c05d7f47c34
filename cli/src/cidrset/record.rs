//! What is remembered of the last good import of a list: a hidden file beside its sets, since files that did
//! not change keep their old times.

use std::{
    io,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// The last good import of a list.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    pub list: String,
    /// Where the list was read from.
    pub feed: String,
    /// Seconds since 1970.
    pub imported_at: u64,
    pub entries: usize,
    pub rejected: usize,
    pub shards: usize,
}

/// Name of the file.
pub fn file_name(list: &str) -> String {
    format!(".{list}.import.json")
}

impl Record {
    pub fn parse(bytes: &[u8]) -> io::Result<Self> {
        Ok(serde_json::from_slice(bytes)?)
    }

    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Seconds since the import.
    pub fn age(&self) -> u64 {
        now().saturating_sub(self.imported_at)
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
