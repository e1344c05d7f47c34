//! The project's cache folder, as the kernels use it: one run at a time, nothing half done in it.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The folder, locked until this value is dropped, which also removes what was being worked on.
pub struct Cache {
    folder: PathBuf,
    partial: PathBuf,
    _lock: File,
}

impl Cache {
    /// Opens it where `setup.sh` keeps the tools; waits for another run to end.
    pub fn open() -> Result<Self> {
        let cache = env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
            .context("neither $XDG_CACHE_HOME nor $HOME is set")?;
        let folder = cache.join("sluice/kernels");
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let lock = File::create(folder.join("lock")).context("open the lock of the cache")?;
        lock.lock().context("lock the cache")?;
        let partial = folder.join("partial");
        remove(&partial)?;
        fs::create_dir(&partial).with_context(|| format!("make {}", partial.display()))?;
        Ok(Self { folder, partial, _lock: lock })
    }

    /// What is being worked on; it is gone after the run.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Where the console of a series' guest is kept, until the next run.
    pub fn console(&self, series: &str) -> PathBuf {
        self.folder.join(format!("console-{series}.log"))
    }

    /// A folder for package lists.
    pub fn lists(&self, name: &str) -> PathBuf {
        self.folder.join("lists").join(name)
    }

    /// What is kept under `name`, whole or not at all.
    pub fn kept(&self, name: &str) -> PathBuf {
        self.folder.join("kept").join(name)
    }

    /// Keeps a finished folder instead of whatever was kept under that name.
    pub fn keep(&self, finished: &Path, name: &str) -> Result<PathBuf> {
        let place = self.kept(name);
        remove(&place)?;
        fs::create_dir_all(self.folder.join("kept")).context("make the folder of what is kept")?;
        fs::rename(finished, &place).with_context(|| format!("move {} into place", finished.display()))?;
        Ok(place)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.partial) {
            eprintln!("{error:#}");
        }
    }
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(())
}
