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
use super::snapshot::LastGood;

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
    pub fn load(&self) -> (LastGood, Option<String>) {
        match self.read() {
            Ok(Some(entries)) => self.policies(entries),
            Ok(None) => (LastGood::new(), None),
            Err(error) => (LastGood::new(), Some(self.set_aside(&error))),
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

    fn policies(&self, entries: Vec<StoredEntry>) -> (LastGood, Option<String>) {
        let (mut policies, mut lost) = (LastGood::new(), Vec::new());
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

    fn set_aside(&self, error: &io::Error) -> String {
        let aside = self.path.with_file_name(LAST_GOOD_SET_ASIDE_FILE);
        let path = self.path.display();
        match fs::rename(&self.path, &aside) {
            Ok(()) => format!("{path} cannot be used ({error}); it is now {}", aside.display()),
            Err(rename) => format!("{path} cannot be used ({error}), and cannot be set aside ({rename})"),
        }
    }

    /// The bytes that [`Self::save`] writes.
    pub fn encode(policies: &LastGood) -> io::Result<Vec<u8>> {
        let contents =
            Contents { format: FORMAT.to_owned(), policies: policies.values().map(Entry::of).collect() };
        Ok(serde_json::to_vec(&contents)?)
    }

    /// Replaces the store. After a crash at any point, the old one or the new one is there.
    pub fn save(&self, bytes: &[u8]) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory)?;
        let temporary = self.path.with_file_name(LAST_GOOD_NEW_FILE);
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)?;
        File::open(directory)?.sync_all()
    }
}
