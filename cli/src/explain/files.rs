//! Reading the policies that the command line names: files, directories, standard input.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sluice_policy::{MAX_FILE_BYTES, ParsedFile, is_policy_file, is_set_file, max_file_bytes, parse_file};

use super::report::Finding;
use crate::input;

/// More than the largest file that is accepted, so that the parser refuses it in its own words, and
/// few enough to hold whatever is named, a device that never ends included.
const READ_LIMIT: usize = 16 * MAX_FILE_BYTES;

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
            read.add(input::STANDARD_INPUT, input::read(path, READ_LIMIT));
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
                "there is no file in this directory whose name ends in .yaml, .yml, .json or .cidrs".into(),
                "Name a file, or a directory that has policies directly in it.",
            )),
            Ok(files) => files.iter().for_each(|file| self.file(file)),
            Err(error) => self.unreadable(&name, &error),
        }
    }

    fn file(&mut self, path: &Path) {
        let is_set = path.file_name().is_some_and(is_set_file);
        let limit = path.file_name().filter(|_| is_set).map_or(READ_LIMIT, |name| max_file_bytes(name) + 1);
        self.add(&path.display().to_string(), input::read(path, limit));
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

/// The files that the agent would read in this directory, or report.
fn policy_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if is_policy_file(&entry.file_name()) || is_set_file(&entry.file_name()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}
