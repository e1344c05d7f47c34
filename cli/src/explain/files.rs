//! Reading what `-f` names: files, directories, standard input.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use sluice_policy::{MAX_FILE_BYTES, ParsedFile, parse_file};

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
        self.add(&path.display().to_string(), File::open(path).and_then(contents));
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

/// The files that the agent would read in this directory.
fn policy_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_policy = path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        if is_policy && !is_hidden && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
