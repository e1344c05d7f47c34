//! Reading the whole directory, again only where something changed.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use sluice_policy::{ParsedFile, is_policy_file, is_set_file};

use super::file::ReadFile;
use super::watch::Watch;

/// The directory may change while it is read.
const ATTEMPTS: usize = 5;

/// The files as they were last read.
#[derive(Debug, Default)]
pub struct Files(HashMap<OsString, ReadFile>);

impl Files {
    /// Every file of the directory, in the order of their names. Afterwards everything read is watched.
    ///
    /// A directory that changes during every attempt is an error: a file that was between two names would
    /// look removed. There will then be another reading, without another change.
    pub fn read(&mut self, directory: &Path, watch: &mut Watch) -> io::Result<Vec<(String, ParsedFile)>> {
        for _ in 0..ATTEMPTS {
            watch.take_changes()?;
            watch.begin();
            watch.directory(directory);
            let listed = list(directory);
            let files =
                listed.map(|names| self.read_all(directory, names, watch)).inspect_err(|_| watch.finish())?;
            watch.finish();
            // What was exchanged at once has to be seen at once, not half before and half after.
            if !watch.take_changes()? {
                return Ok(files);
            }
        }
        watch.changed_meanwhile();
        Err(io::Error::other("it kept changing meanwhile"))
    }

    /// Whether a file could not be read for a reason that may go away without an event.
    pub fn failed(&self) -> bool {
        self.0.values().any(|file| file.failed)
    }

    fn read_all(
        &mut self,
        directory: &Path,
        names: Vec<Name>,
        watch: &mut Watch,
    ) -> Vec<(String, ParsedFile)> {
        let mut known = std::mem::take(&mut self.0);
        let mut files = Vec::with_capacity(names.len());
        for Name { name, is_link } in names {
            let path = directory.join(&name);
            if is_link {
                watch.linked_file(&path, &name);
            }
            let text = text(&name);
            let earlier = known.remove(&name);
            let keep = |earlier: &ReadFile| watch.is_being_written(&name) || earlier.is_current(&path);
            let Some(file) = earlier.filter(keep).or_else(|| ReadFile::read(&path, &text)) else {
                continue;
            };
            files.push((text, file.parsed.clone()));
            self.0.insert(name, file);
        }
        files
    }
}

struct Name {
    name: OsString,
    is_link: bool,
}

fn list(directory: &Path) -> io::Result<Vec<Name>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if is_policy_file(&name) || is_set_file(&name) {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            names.push(Name { name, is_link });
        }
    }
    names.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(names)
}

/// Two names of odd bytes stay two names.
fn text(name: &OsStr) -> String {
    name.to_str().map_or_else(|| name.as_bytes().escape_ascii().to_string(), str::to_owned)
}
