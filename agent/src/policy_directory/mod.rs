//! The policies of a directory: which are in force, what is wrong with the others, and when that changes.
//!
//! Keeps the last good document of each policy, also over a restart. Never writes into the directory.

mod file;
mod identity;
mod reading;
mod snapshot;
mod store;
mod watch;

use std::io;
use std::path::{Path, PathBuf};

use tokio::task::JoinHandle;
use tracing::warn;

pub use snapshot::Snapshot;

use identity::Identity;
use reading::Files;
use snapshot::{LastGood, read_files, unreadable};
use store::Store;
use watch::Watch;

/// Why a directory cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum PolicyDirectoryError {
    /// The path is empty, or the working directory is gone.
    #[error("cannot tell where the policy directory {path} is: {source}")]
    Path {
        /// As it was given.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The kernel allows no more watchers.
    #[error(
        "cannot watch for changes of policies (is the sysctl fs.inotify.max_user_instances high enough?): {0}"
    )]
    Watch(#[source] io::Error),
}

/// A directory of policies.
pub struct PolicyDirectory {
    directory: PathBuf,
    watch: Watch,
    files: Files,
    /// The directory whose files are in force; `None` before the first reading.
    read_from: Option<Identity>,
    last_good: LastGood,
    store: Store,
    store_problem: Option<String>,
    unsaved: bool,
    saving: Option<JoinHandle<io::Result<()>>>,
}

impl PolicyDirectory {
    /// Opens `directory`, which need not exist yet, within a Tokio runtime. What was last good is read from
    /// `state_dir` and kept there.
    pub fn open(directory: &Path, state_dir: &Path) -> Result<Self, PolicyDirectoryError> {
        let absolute = std::path::absolute(directory)
            .map_err(|source| PolicyDirectoryError::Path { path: directory.to_owned(), source })?;
        let store = Store::new(state_dir);
        let (last_good, store_problem) = store.load();
        if let Some(problem) = &store_problem {
            warn!("{problem}");
        }
        Ok(Self {
            directory: absolute,
            watch: Watch::new().map_err(PolicyDirectoryError::Watch)?,
            files: Files::default(),
            read_from: None,
            last_good,
            store,
            store_problem,
            unsaved: false,
            saving: None,
        })
    }

    /// Reads the directory as it is now.
    pub fn read(&mut self) -> Snapshot {
        let mut snapshot = match self.files.read(&self.directory, &mut self.watch) {
            Ok(files) if files.is_empty() && self.is_another_directory() => {
                let directory = self.directory.display();
                let problem =
                    format!("the policy directory {directory} was made anew and holds no policy file yet");
                unreadable(&self.last_good, problem)
            }
            Ok(files) => {
                self.read_from = Identity::of(&self.directory);
                let (now, snapshot) = read_files(&self.last_good, files);
                self.unsaved |= now != self.last_good;
                self.last_good = now;
                snapshot
            }
            Err(error) => {
                let directory = self.directory.display();
                unreadable(
                    &self.last_good,
                    format!("the policy directory {directory} cannot be read: {error}"),
                )
            }
        };
        if snapshot.directory_problem.is_none() {
            snapshot.directory_problem = self.watch.problem().map(str::to_owned);
        }
        snapshot.store_problem.clone_from(&self.store_problem);
        snapshot
    }

    /// Whoever puts a directory in another's place is about to fill it: nobody has removed a file.
    fn is_another_directory(&self) -> bool {
        self.read_from.is_some() && self.read_from != Identity::of(&self.directory)
    }

    /// Returns when the directory has changed. Loses nothing if it is dropped meanwhile.
    ///
    /// Before it waits, it saves what was last good: what was read has to come into force first.
    pub async fn changed(&mut self) -> Result<(), PolicyDirectoryError> {
        loop {
            self.begin_to_save();
            let Some(saving) = &mut self.saving else {
                return self.watch.changed().await.map_err(PolicyDirectoryError::Watch);
            };
            tokio::select! {
                changed = self.watch.changed() => return changed.map_err(PolicyDirectoryError::Watch),
                saved = saving => {
                    self.saving = None;
                    self.note_saved(saved.map_err(io::Error::other).flatten());
                }
            }
        }
    }

    fn begin_to_save(&mut self) {
        if !self.unsaved || self.saving.is_some() {
            return;
        }
        self.unsaved = false;
        let store = self.store.clone();
        match Store::encode(&self.last_good) {
            Ok(bytes) => self.saving = Some(tokio::task::spawn_blocking(move || store.save(&bytes))),
            Err(error) => self.note_saved(Err(error)),
        }
    }

    /// A failure is told once, with the next reading; the next change is another attempt.
    fn note_saved(&mut self, saved: io::Result<()>) {
        self.store_problem = saved.err().map(|error| format!("cannot keep the last good policies: {error}"));
        if let Some(problem) = &self.store_problem {
            warn!("{problem}");
        }
    }
}

#[cfg(test)]
mod test_fixture;
#[cfg(test)]
mod test_policies;
#[cfg(test)]
mod tests;
