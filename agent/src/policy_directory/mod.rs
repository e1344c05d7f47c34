//! The policies of a directory: which are in force, what is wrong with the others, and when that changes.
//!
//! Keeps the last good document of each policy, also over a restart. Never writes into the directory.

mod door;
mod file;
mod identity;
mod reading;
mod set_store;
mod sets;
mod snapshot;
mod store;
mod watch;
mod writing;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tracing::warn;

pub use sets::{Kept, KnownSet, named};
pub use snapshot::Snapshot;
pub use watch::Watch;

use identity::Identity;
use reading::Files;
use set_store::SetStore;
use sets::Sets;
use snapshot::{LastGood, read_files, unreadable};
use store::Store;

/// What fails without an event that tells its end is tried again after this. No timer runs otherwise.
const RETRY: Duration = Duration::from_secs(10);

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
    set_store: SetStore,
    /// What the store of sets holds, or soon will.
    saved_sets: Sets,
    store_problem: Option<String>,
    unsaved: bool,
    saving: Option<JoinHandle<io::Result<()>>>,
    retry: Duration,
    read_again_at: Option<Instant>,
    save_again_at: Option<Instant>,
}

impl PolicyDirectory {
    /// Opens `directory`, which need not exist yet, within a Tokio runtime. What was last good is read from
    /// `state_dir` and kept there.
    pub fn open(directory: &Path, state_dir: &Path) -> Result<Self, PolicyDirectoryError> {
        let absolute = std::path::absolute(directory)
            .map_err(|source| PolicyDirectoryError::Path { path: directory.to_owned(), source })?;
        let (store, set_store) = (Store::new(state_dir), SetStore::new(state_dir));
        let ((policies, of_policies), (sets, of_sets)) = (store.load(), set_store.load());
        for problem in of_policies.iter().chain(&of_sets) {
            warn!("{problem}");
        }
        let store_problem = of_policies.or(of_sets);
        let saved_sets = sets.clone();
        Ok(Self {
            directory: absolute,
            watch: Watch::new().map_err(PolicyDirectoryError::Watch)?,
            files: Files::default(),
            read_from: None,
            last_good: LastGood { policies, sets },
            store,
            set_store,
            saved_sets,
            store_problem,
            unsaved: false,
            saving: None,
            retry: RETRY,
            read_again_at: None,
            save_again_at: None,
        })
    }

    /// Reads the directory as it is now.
    pub fn read(&mut self) -> Snapshot {
        let read = self.files.read(&self.directory, &mut self.watch);
        let failed = self.watch.problem().is_some()
            || read.as_ref().map_or_else(|error| !is_noticed(error), |_| self.files.failed());
        self.read_again_at = failed.then(|| Instant::now() + self.retry);
        let mut snapshot = match read {
            Ok(files) if files.is_empty() && self.is_another_directory() => {
                let directory = self.directory.display();
                let problem =
                    format!("the policy directory {directory} was made anew and holds no policy file yet");
                unreadable(&self.last_good, problem)
            }
            Ok(files) => {
                self.read_from = Identity::of(&self.directory);
                let (now, snapshot) = read_files(&self.last_good, files);
                if now != self.last_good {
                    self.unsaved = true;
                    self.save_again_at = None;
                }
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

    /// Returns when the directory has changed or the snapshot would tell of other problems. Loses nothing if
    /// it is dropped meanwhile.
    ///
    /// Before it waits, it saves what was last good: what was read has to come into force first.
    pub async fn changed(&mut self) -> Result<(), PolicyDirectoryError> {
        loop {
            self.begin_to_save();
            tokio::select! {
                changed = self.watch.changed() => return changed.map_err(PolicyDirectoryError::Watch),
                saved = finished(self.saving.as_mut()) => {
                    self.saving = None;
                    if self.note_saved(saved) {
                        return Ok(());
                    }
                }
                () = at(self.save_again_at) => self.save_again_at = None,
                () = at(self.read_again_at) => {
                    self.read_again_at = None;
                    return Ok(());
                }
            }
        }
    }

    fn begin_to_save(&mut self) {
        if self.unsaved && self.saving.is_none() && self.save_again_at.is_none() {
            self.unsaved = false;
            let (store, bytes) = (self.store.clone(), Store::encode(&self.last_good.policies));
            let sets = self.unsaved_sets();
            let set_store = self.set_store.clone();
            self.saving = Some(tokio::task::spawn_blocking(move || {
                // First the sets: a policy that is kept must not name one that is not.
                sets.map_or(Ok(()), |sets| set_store.save(&sets))?;
                store.save(&bytes?)
            }));
        }
    }

    fn unsaved_sets(&mut self) -> Option<Sets> {
        let sets = &self.last_good.sets;
        (*sets != self.saved_sets).then(|| {
            self.saved_sets = sets.clone();
            sets.clone()
        })
    }

    /// Whether there is something new to tell.
    fn note_saved(&mut self, saved: io::Result<()>) -> bool {
        let problem = saved.err().map(|error| format!("cannot keep the last good policies: {error}"));
        if problem.is_some() {
            self.unsaved = true;
            self.saved_sets.clear();
            self.save_again_at = Some(Instant::now() + self.retry);
        }
        let is_new = problem != self.store_problem;
        if let Some(problem) = problem.as_ref().filter(|_| is_new) {
            warn!("{problem}");
        }
        self.store_problem = problem;
        is_new
    }
}

/// Whether there is an event when the failure of a reading ends: the places are watched where something is
/// missing.
fn is_noticed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

async fn finished(saving: Option<&mut JoinHandle<io::Result<()>>>) -> io::Result<()> {
    match saving {
        Some(saving) => saving.await.map_err(io::Error::other).flatten(),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod store_tests;
#[cfg(test)]
mod test_fixture;
#[cfg(test)]
mod test_policies;
#[cfg(test)]
mod tests;
