//! The policy directory as `cidrset` changes it: whole files at a time, and no two imports at once.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use crate::{error::Error, input};

/// A directory that nobody else imports into.
pub struct Directory {
    path: PathBuf,
    opened: File,
}

impl Directory {
    /// Waits for another import to end.
    pub fn lock(path: &Path) -> Result<Self, Error> {
        let opened = File::open(path).map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
        flock(&opened, FlockOperation::LockExclusive)
            .map_err(|errno| Error::Read { path: path.to_path_buf(), source: errno.into() })?;
        Ok(Self { path: path.to_path_buf(), opened })
    }

    /// Names of its files, sorted, but for those that are not text.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        names(&self.path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn read(&self, name: &str, limit: usize) -> Result<Vec<u8>, Error> {
        let path = self.path(name);
        input::read(&path, limit).map_err(|source| Error::Read { path, source })
    }

    /// Puts a file there, whole or not at all. Its name has a dot in front while it is being written, which
    /// the agent does not look at.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path(name);
        let unfinished = self.path(&format!(".{}.new", name.trim_start_matches('.')));
        write(&unfinished, bytes)
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(|source| Error::Write { path, source })
    }

    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.path(name);
        fs::remove_file(&path).map_err(|source| Error::Remove { path, source })
    }

    /// What was replaced and removed is so after a power failure too.
    pub fn sync(&self) -> Result<(), Error> {
        self.opened.sync_all().map_err(|source| Error::Write { path: self.path.clone(), source })
    }
}

/// Names of a directory's files, sorted, but for those that are not text.
pub fn names(path: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(path).and_then(std::iter::Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    let mut names: Vec<String> =
        entries.iter().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
