//! Removes what killed test processes left behind: once a process, at the first creation of anything.
//! It touches only names whose owner is dead.

use crate::owner::owner_is_dead;
use crate::{bpffs, namespace};
use anyhow::{Context as _, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Once;

const LOCK: &str = "/run/sluice-testkit.lock";
static ONCE: Once = Once::new();

/// Serialises the few steps that test processes must not do at the same time. Unlocks on drop.
pub(crate) fn lock() -> Result<File> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(LOCK)
        .with_context(|| format!("open {LOCK}"))?;
    flock(&file, FlockOperation::LockExclusive).with_context(|| format!("lock {LOCK}"))?;
    Ok(file)
}

pub(crate) fn remove_once() {
    ONCE.call_once(|| {
        // Without the lock another process would clean the same things: leave it to that one.
        if let Ok(_lock) = lock() {
            remove_dead(Path::new(namespace::FOLDER), namespace::remove);
            remove_dead(Path::new(bpffs::MOUNT_POINT), bpffs::remove);
        }
    });
}

fn remove_dead(folder: &Path, remove: fn(&Path) -> Result<()>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(owner_is_dead)
            && let Err(error) = remove(&entry.path())
        {
            eprintln!("could not remove a leftover of a killed test: {error:#}");
        }
    }
}
