//! A private folder in bpffs for one test.

use crate::leftovers;
use crate::owner::unique_name;
use anyhow::{Context as _, Result};
use rustix::fs::statfs;
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::path::{Path, PathBuf};

/// Where bpffs is mounted, by everyone's habit.
pub const MOUNT_POINT: &str = "/sys/fs/bpf";
const BPF_FS_MAGIC: u32 = 0xcafe_4a11;

/// A folder in bpffs. Dropping it removes every pin below it.
#[derive(Debug)]
pub struct BpffsDir {
    path: PathBuf,
}

impl BpffsDir {
    /// Makes the folder; mounts bpffs if nobody has. `purpose` becomes part of its name.
    pub fn new(purpose: &str) -> Result<Self> {
        mount_if_absent()?;
        leftovers::remove_once();
        let path = Path::new(MOUNT_POINT).join(unique_name(purpose)?);
        fs::create_dir(&path).with_context(|| format!("make {}", path.display()))?;
        Ok(Self { path })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every file below the folder, sorted, relative to it.
    pub fn pins(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        collect(&self.path, &mut found)?;
        let mut found: Vec<PathBuf> =
            found.iter().filter_map(|path| path.strip_prefix(&self.path).ok()).map(Path::to_owned).collect();
        found.sort();
        Ok(found)
    }
}

impl Drop for BpffsDir {
    fn drop(&mut self) {
        if self.path.exists()
            && let Err(error) = remove(&self.path)
        {
            eprintln!("{error:#}");
        }
    }
}

pub(crate) fn remove(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).with_context(|| format!("remove {}", path.display()))
}

fn mount_if_absent() -> Result<()> {
    // Two mounts over each other would hide the first one's pins.
    let _lock = leftovers::lock()?;
    let found = statfs(MOUNT_POINT).with_context(|| format!("look at {MOUNT_POINT}"))?;
    if u32::try_from(found.f_type) != Ok(BPF_FS_MAGIC) {
        mount("bpf", MOUNT_POINT, "bpf", MountFlags::empty(), None)
            .with_context(|| format!("mount bpffs at {MOUNT_POINT}"))?;
    }
    Ok(())
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}
