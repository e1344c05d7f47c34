//! Bytes of a file to checked policies and address sets, or to everything that is wrong with them.

use std::path::Path;

use serde_json::Value;

use crate::problem::{Finding, Problem, Reason};
use crate::{CidrSet, Policy, check, cidr_set, is_set_file, yaml};

/// Largest file of documents that is read, in bytes: room for an address set of the most entries that one may
/// have.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedFile {
    /// Its documents in order, but for address sets; none if the file itself cannot be read.
    pub documents: Vec<Document>,
    /// Its address sets in order.
    pub sets: Vec<SetDocument>,
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

/// One address set of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct SetDocument {
    /// `metadata.name`, if it has one.
    pub name: Option<String>,
    /// The set, or everything that is wrong with it.
    pub result: Result<CidrSet, Vec<Problem>>,
}

/// Reads the policies and address sets of a file: YAML with any number of documents, or JSON, which is YAML
/// too. A file whose name says that it is a list of addresses ([`is_set_file`]) is one set.
#[must_use]
pub fn parse_file(file: &str, bytes: &[u8]) -> ParsedFile {
    if Path::new(file).file_name().is_some_and(is_set_file) {
        return list_of_addresses(file, bytes);
    }
    let mut parsed = ParsedFile::default();
    match documents(bytes) {
        Ok(values) => values.iter().for_each(|value| parsed.add(file, value)),
        Err(finding) => parsed.problems.push(finding.into_problem(file, None)),
    }
    parsed
}

impl ParsedFile {
    fn add(&mut self, file: &str, value: &Value) {
        if value["kind"] == "XdpCidrSet" {
            self.sets.push(set(file, value));
        } else {
            self.documents.push(document(file, value));
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

fn document(file: &str, value: &Value) -> Document {
    Document { name: name_of(value), result: parse_document(file, value) }
}

/// The name of a policy; other kinds have names of their own, which are no concern here.
fn name_of(document: &Value) -> Option<String> {
    let is_other_kind = document.get("kind").is_some_and(|kind| kind != "XdpPolicy");
    let name = document.get("metadata")?.get("name")?.as_str()?;
    (!is_other_kind).then(|| name.to_owned())
}

fn set(file: &str, value: &Value) -> SetDocument {
    let name = value["metadata"]["name"].as_str().map(str::to_owned);
    let result = cidr_set::check(file, value).map_err(|findings| {
        let problem = |finding: Finding| finding.into_problem_of_set(file, name.as_deref());
        findings.into_iter().map(problem).collect()
    });
    SetDocument { name, result }
}

fn list_of_addresses(file: &str, bytes: &[u8]) -> ParsedFile {
    let result = cidr_set::from_feed(file, bytes);
    let result = result.map_err(|finding| vec![finding.into_problem(file, None)]);
    let set = SetDocument { name: cidr_set::name_of(file).map(str::to_owned), result };
    ParsedFile { sets: vec![set], ..ParsedFile::default() }
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
