//! Reading one policy file, whatever it turns out to be.
//!
//! Never waits for anybody and never reads more than the limit: a pipe, a device, a directory and a file of
//! ten gigabytes are all just files with a problem.

use std::fs::{File, Metadata, OpenOptions, metadata, symlink_metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;
use sluice_policy::{ParsedFile, Problem, Reason, max_file_bytes};

use super::door::parse_file;

/// Clocks of file systems tick as seldom as this: within it, a file may change without looking changed.
const TICK: Duration = Duration::from_secs(2);

/// What a file looked like when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Signature {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file that has been read, or that could not be.
#[derive(Debug, Clone)]
pub struct ReadFile {
    pub parsed: ParsedFile,
    /// `None`: it must be read again in any case.
    signature: Option<Signature>,
    /// The system refused to read it, which may end without an event.
    pub failed: bool,
}

impl ReadFile {
    /// Reads the file at `path`; problems call it `name`. `None`: there is no such file (any more).
    pub fn read(path: &Path, name: &str) -> Option<Self> {
        match open(path, max_file_bytes(name.as_ref())) {
            Ok(opened) => Some(opened.parse(name)),
            // A link that leads nowhere is there all the same.
            Err(error) if error.kind() == io::ErrorKind::NotFound && symlink_metadata(path).is_err() => None,
            Err(error) => Some(Self::failed(name, &error)),
        }
    }

    /// Whether the file at `path` is certainly what was read here.
    pub fn is_current(&self, path: &Path) -> bool {
        self.signature.is_some_and(|known| metadata(path).is_ok_and(|now| Signature::of(&now) == known))
    }

    fn with_problem(problem: Problem) -> Self {
        let parsed = ParsedFile { problems: vec![problem], ..ParsedFile::default() };
        Self { parsed, signature: None, failed: false }
    }

    fn failed(name: &str, error: &io::Error) -> Self {
        Self { failed: true, ..Self::with_problem(unreadable(name, &error.to_string())) }
    }
}

enum Opened {
    Regular(File, Metadata),
    TooLarge(u64),
    Other(&'static str),
}

/// Looks before it opens: opening some devices does something.
fn open(path: &Path, most: usize) -> io::Result<Opened> {
    if let Some(kind) = other_kind(&metadata(path)?) {
        return Ok(Opened::Other(kind));
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    Ok(match other_kind(&found) {
        Some(kind) => Opened::Other(kind),
        None if found.len() > most as u64 => Opened::TooLarge(found.len()),
        None => Opened::Regular(file, found),
    })
}

fn other_kind(found: &Metadata) -> Option<&'static str> {
    match found.file_type() {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        _ => Some("a pipe, a socket or a device"),
    }
}

impl Opened {
    fn parse(self, name: &str) -> ReadFile {
        let (file, before) = match self {
            Self::Regular(file, before) => (file, before),
            Self::TooLarge(size) => return ReadFile::with_problem(too_large(name, size)),
            Self::Other(kind) => {
                return ReadFile::with_problem(unreadable(
                    name,
                    &format!("it is {kind}, not a regular file"),
                ));
            }
        };
        let mut bytes = Vec::new();
        match file.take(max_file_bytes(name.as_ref()) as u64 + 1).read_to_end(&mut bytes) {
            Ok(_) => {
                ReadFile { parsed: parse_file(name, &bytes), signature: settled(&before), failed: false }
            }
            Err(error) => ReadFile::failed(name, &error),
        }
    }
}

impl Signature {
    fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// The signature, unless the file changed so lately that another change could leave it the same.
fn settled(found: &Metadata) -> Option<Signature> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let changed = Duration::from_secs(u64::try_from(found.ctime()).ok()?);
    (now.checked_sub(changed)? > TICK).then(|| Signature::of(found))
}

fn unreadable(name: &str, why: &str) -> Problem {
    Problem {
        file: name.to_owned(),
        policy: None,
        field: String::new(),
        reason: Reason::Unreadable,
        message: format!("the file cannot be read: {why}"),
        fix: "Put a readable file there, or remove it.".to_owned(),
    }
}

fn too_large(name: &str, size: u64) -> Problem {
    Problem {
        file: name.to_owned(),
        policy: None,
        field: String::new(),
        reason: Reason::FileTooLarge,
        message: format!("the file has {size} bytes, and at most {} are read", max_file_bytes(name.as_ref())),
        fix: "Split it.".to_owned(),
    }
}
