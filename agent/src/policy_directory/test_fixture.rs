//! A policy directory in a temporary folder, for the tests of this module.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::{PolicyDirectory, Snapshot};

const SOON: Duration = Duration::from_secs(10);
pub const A_WHILE: Duration = Duration::from_millis(200);

/// The directory, its surroundings and its reader.
pub struct Fixture {
    pub root: TempDir,
    pub policies: PathBuf,
    pub directory: PolicyDirectory,
}

impl Fixture {
    /// An existing, empty policy directory.
    pub fn new() -> Self {
        let fixture = Self::absent("policies");
        fs::create_dir(&fixture.policies).unwrap();
        fixture
    }

    /// A policy directory that is not there.
    pub fn absent(path: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let policies = root.path().join(path);
        fs::create_dir(root.path().join("state")).unwrap();
        let directory = PolicyDirectory::open(&policies, &root.path().join("state")).unwrap();
        Self { root, policies, directory }
    }

    pub fn restart(&mut self) {
        self.directory = PolicyDirectory::open(&self.policies, &self.root.path().join("state")).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.policies.join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Puts a file in place as careful programs do.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let temporary = self.path(&format!(".{name}.new"));
        fs::write(&temporary, content).unwrap();
        fs::rename(temporary, self.path(name)).unwrap();
    }

    pub async fn changed(&mut self) -> Snapshot {
        tokio::time::timeout(SOON, self.directory.changed()).await.expect("no change was noticed").unwrap();
        self.directory.read()
    }

    /// Reads, woken by changes only, until the policies have these ports.
    pub async fn until(&mut self, ports: &[(&str, u16)]) -> Snapshot {
        let mut snapshot = self.directory.read();
        while in_force(&snapshot) != ports {
            snapshot = self.changed().await;
        }
        snapshot
    }

    /// Takes what is still on its way, and lets the last good policies be saved.
    pub async fn settle(&mut self) {
        while tokio::time::timeout(A_WHILE, self.directory.changed()).await.is_ok() {
            self.directory.read();
        }
        assert!(self.directory.saving.is_none());
        assert!(!self.directory.unsaved || self.directory.save_again_at.is_some());
    }
}

/// The policies in force, each with its first port.
pub fn in_force(snapshot: &Snapshot) -> Vec<(&str, u16)> {
    let port = |policy: &sluice_policy::Policy| policy.rules[0].matcher.fields.destination_ports[0].first;
    snapshot.policies.iter().map(|policy| (policy.name.as_str(), port(policy))).collect()
}
