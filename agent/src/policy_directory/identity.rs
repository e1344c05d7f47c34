//! Whether a directory is the same one as before, though it may bear the same name.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path, time::SystemTime};

/// Tells directories apart. The inode number alone may be that of a directory that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    /// Absent where the file system does not keep it.
    created: Option<SystemTime>,
}

impl Identity {
    /// Of the directory at `path` now.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { device: metadata.dev(), inode: metadata.ino(), created: metadata.created().ok() })
    }
}
