//! Bytes of a file to checked policies, or to everything that is wrong with them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::problem::{Finding, Problem, Reason, quote};
use crate::{Policy, check, yaml};

/// Largest file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedFile {
    /// Its documents in order; none if the file itself cannot be read.
    pub documents: Vec<Document>,
    /// What is wrong with the file as a whole.
    pub problems: Vec<Problem>,
}

/// One document of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// `metadata.name`, if it has one.
    pub name: Option<String>,
    /// The policy, or everything that is wrong with it.
    pub result: Result<Policy, Vec<Problem>>,
}

/// Reads the policies of a file: YAML with any number of documents, or JSON, which is YAML too.
#[must_use]
pub fn parse_file(file: &str, bytes: &[u8]) -> ParsedFile {
    match documents(bytes) {
        Ok(values) => {
            let documents = values.iter().map(|value| document(file, value)).collect();
            ParsedFile { documents, problems: Vec::new() }
        }
        Err(finding) => {
            ParsedFile { documents: Vec::new(), problems: vec![finding.into_problem(file, None)] }
        }
    }
}

/// Reads one document that has been parsed already.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse_document(file: &str, document: &Value) -> Result<Policy, Vec<Problem>> {
    let name = name_of(document);
    check::policy(file, document).map_err(|findings| {
        findings.into_iter().map(|finding| finding.into_problem(file, name.as_deref())).collect()
    })
}

/// Refuses documents whose name is there twice, in one file or in several: which of them would be
/// in force must not depend on the order of reading.
pub fn refuse_duplicates(files: &mut [(String, ParsedFile)]) {
    let mut places: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (file_index, (_, parsed)) in files.iter().enumerate() {
        for (document_index, document) in parsed.documents.iter().enumerate() {
            if let Some(name) = &document.name {
                places.entry(name.clone()).or_default().push((file_index, document_index));
            }
        }
    }
    for (name, places) in places.into_iter().filter(|(_, places)| places.len() > 1) {
        let mut by_file: BTreeMap<String, usize> = BTreeMap::new();
        for (file_index, _) in &places {
            *by_file.entry(files[*file_index].0.clone()).or_default() += 1;
        }
        for (file_index, document_index) in places {
            let (file, parsed) = &mut files[file_index];
            let problem = duplicate(&name, file, &by_file).into_problem(file, Some(&name));
            match &mut parsed.documents[document_index].result {
                result @ Ok(_) => *result = Err(vec![problem]),
                Err(problems) => problems.push(problem),
            }
        }
    }
}

/// So many files are named that share a name; who has more sees the rest once these are mended.
const NAMED_FILES: usize = 3;

fn duplicate(name: &str, file: &str, by_file: &BTreeMap<String, usize>) -> Finding {
    let here = (by_file.get(file) > Some(&1)).then(|| "another document of this file".to_owned());
    let elsewhere = by_file.keys().filter(|other| *other != file);
    let mut others: Vec<String> = here.into_iter().chain(elsewhere.take(NAMED_FILES).cloned()).collect();
    let more = (by_file.len() - 1).saturating_sub(NAMED_FILES);
    if more > 0 {
        others.push(format!("{more} more files"));
    }
    Finding::new(
        "metadata.name",
        Reason::DuplicateName,
        format!("the name {} is also that of {}", quote(name), others.join(", ")),
        "Give each policy a name of its own, or remove one of them",
    )
}

fn document(file: &str, value: &Value) -> Document {
    Document { name: name_of(value), result: parse_document(file, value) }
}

/// The name of a policy; other kinds have names of their own, which are no concern here.
fn name_of(document: &Value) -> Option<String> {
    let is_other_kind = document.get("kind").is_some_and(|kind| kind != "XdpPolicy");
    let name = document.get("metadata")?.get("name")?.as_str()?;
    (!is_other_kind).then(|| name.to_owned())
}

fn documents(bytes: &[u8]) -> Result<Vec<Value>, Finding> {
    let refuse = |reason, message: String, fix: &str| Err(Finding::new("", reason, message, fix));
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!("the file has {} bytes, and at most {MAX_FILE_BYTES} are read", bytes.len());
        return refuse(Reason::FileTooLarge, message, "Split it");
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("the file is not UTF-8 text (byte {})", error.valid_up_to());
            return refuse(Reason::NotUtf8, message, "Save it as UTF-8");
        }
    };
    match yaml::documents(text) {
        Ok(values) if values.is_empty() => {
            let fix = "Write an XdpPolicy into it, or remove the file";
            refuse(Reason::EmptyFile, "the file holds no document".to_owned(), fix)
        }
        Ok(values) => Ok(values),
        Err(error) => {
            refuse(Reason::NotYaml, format!("the file is not valid YAML: {error}"), "Correct the YAML")
        }
    }
}
