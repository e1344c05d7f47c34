//! The last good policies on disk, so that they outlive the agent.
//!
//! Replaced whole or not at all. A store that cannot be understood is set aside, never a reason to stop.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sluice_ipc::paths::{LAST_GOOD_FILE, LAST_GOOD_NEW_FILE, LAST_GOOD_SET_ASIDE_FILE};
use sluice_policy::Policy;

use super::door::parse_document;
use super::snapshot::Policies;

const FORMAT: &str = "sluice.dev/last-good/v1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents<E> {
    format: String,
    policies: Vec<E>,
}

#[derive(Serialize)]
struct Entry<'a> {
    file: &'a str,
    document: &'a serde_json::Value,
}

impl<'a> Entry<'a> {
    fn of(policy: &'a Policy) -> Self {
        Self { file: &policy.file, document: &policy.document }
    }
}

#[derive(Deserialize)]
struct StoredEntry {
    file: String,
    document: serde_json::Value,
}

/// Where the last good policies are kept.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    pub fn new(state_dir: &Path) -> Self {
        Self { path: state_dir.join(LAST_GOOD_FILE) }
    }

    /// What was saved last, and what was wrong with it.
    pub fn load(&self) -> (Policies, Option<String>) {
        match self.read() {
            Ok(Some(entries)) => self.policies(entries),
            Ok(None) => (Policies::new(), None),
            Err(error) => (Policies::new(), Some(set_aside(&self.path, LAST_GOOD_SET_ASIDE_FILE, &error))),
        }
    }

    fn read(&self) -> io::Result<Option<Vec<StoredEntry>>> {
        match fs::metadata(&self.path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(io::Error::other("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let contents: Contents<StoredEntry> = serde_json::from_slice(&fs::read(&self.path)?)?;
        if contents.format != FORMAT {
            return Err(io::Error::other(format!("its format is {:?}, not {FORMAT:?}", contents.format)));
        }
        Ok(Some(contents.policies))
    }

    fn policies(&self, entries: Vec<StoredEntry>) -> (Policies, Option<String>) {
        let (mut policies, mut lost) = (Policies::new(), Vec::new());
        for entry in entries {
            match parse_document(&entry.file, &entry.document) {
                Ok(policy) => {
                    policies.insert(policy.name.clone(), policy);
                }
                Err(problems) => lost.extend(problems.first().map(ToString::to_string)),
            }
        }
        let problem = (!lost.is_empty()).then(|| {
            format!("{} holds policies that are no longer valid: {}", self.path.display(), lost.join("; "))
        });
        (policies, problem)
    }

    /// The bytes that [`Self::save`] writes.
    pub fn encode(policies: &Policies) -> io::Result<Vec<u8>> {
        let contents =
            Contents { format: FORMAT.to_owned(), policies: policies.values().map(Entry::of).collect() };
        Ok(serde_json::to_vec(&contents)?)
    }

    /// Replaces the store. After a crash at any point, the old one or the new one is there.
    pub fn save(&self, bytes: &[u8]) -> io::Result<()> {
        replace(&self.path, LAST_GOOD_NEW_FILE, bytes)
    }
}

/// Puts a file that cannot be used beside its place, and says so.
pub fn set_aside(path: &Path, name: &str, error: &io::Error) -> String {
    let aside = path.with_file_name(name);
    match fs::rename(path, &aside) {
        Ok(()) => format!("{} cannot be used ({error}); it is now {}", path.display(), aside.display()),
        Err(rename) => {
            format!("{} cannot be used ({error}), and cannot be set aside ({rename})", path.display())
        }
    }
}

/// Puts a file in the place of another: after a crash at any point, one of the two is there, whole.
pub fn replace(path: &Path, temporary: &str, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory)?;
    let temporary = path.with_file_name(temporary);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(directory)?.sync_all()
}
