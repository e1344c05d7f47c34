//! Reading what the command line names: files, directories, standard input.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
use sluice_policy::{MAX_FILE_BYTES, ParsedFile, is_policy_file, parse_file};

use super::report::Finding;

/// What messages call standard input.
const STANDARD_INPUT: &str = "standard input";

/// More than the largest file that is accepted, so that the parser refuses it in its own words, and
/// few enough to hold whatever is named, a device that never ends included.
const READ_LIMIT: u64 = 16 * MAX_FILE_BYTES as u64;

/// Files that could be read, and what is wrong with the others.
#[derive(Default)]
pub struct FilesRead {
    pub parsed: Vec<(String, ParsedFile)>,
    pub findings: Vec<Finding>,
}

/// Reads everything, in the order given, and the files of a directory by name.
pub fn read(paths: &[PathBuf]) -> FilesRead {
    let mut read = FilesRead::default();
    for path in paths {
        if path.as_os_str() == "-" {
            read.add(STANDARD_INPUT, contents(io::stdin().lock()));
        } else if path.is_dir() {
            read.directory(path);
        } else {
            read.file(path);
        }
    }
    read
}

impl FilesRead {
    fn directory(&mut self, directory: &Path) {
        let name = directory.display().to_string();
        match policy_files(directory) {
            Ok(files) if files.is_empty() => self.findings.push(Finding::of_file(
                &name,
                "NoPolicyFiles",
                "there is no file in this directory whose name ends in .yaml, .yml or .json".into(),
                "Name a file, or a directory that has policies directly in it.",
            )),
            Ok(files) => files.iter().for_each(|file| self.file(file)),
            Err(error) => self.unreadable(&name, &error),
        }
    }

    fn file(&mut self, path: &Path) {
        self.add(&path.display().to_string(), open(path).and_then(contents));
    }

    fn add(&mut self, name: &str, contents: io::Result<Vec<u8>>) {
        // A file that is named twice is one file: it is no duplicate of itself.
        if self.parsed.iter().any(|(earlier, _)| earlier == name) {
            return;
        }
        match contents {
            Ok(bytes) => self.parsed.push((name.to_owned(), parse_file(name, &bytes))),
            Err(error) => self.unreadable(name, &error),
        }
    }

    fn unreadable(&mut self, name: &str, error: &io::Error) {
        let message = format!("it cannot be read: {error}");
        self.findings.push(Finding::of_file(
            name,
            "Unreadable",
            message,
            "Check the path and its permissions.",
        ));
    }
}

fn contents(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(READ_LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file, and never waits for anybody at the other end of a pipe. It looks before it
/// opens: opening some devices does something.
fn open(path: &Path) -> io::Result<File> {
    refuse_other_kinds(&fs::metadata(path)?)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    refuse_other_kinds(&file.metadata()?)?;
    Ok(file)
}

fn refuse_other_kinds(found: &Metadata) -> io::Result<()> {
    match found.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(io::Error::other("it is a directory, not a regular file")),
        _ => Err(io::Error::other(
            "it is a pipe, a socket or a device, not a regular file (standard input is read as -)",
        )),
    }
}

/// The files that the agent would read in this directory, or report.
fn policy_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if is_policy_file(&entry.file_name()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
