//! From what the files hold now, and what was in force, to what is in force. Pure.
//!
//! A policy leaves only by a valid reading without it: invalid content never takes one away.

use std::collections::{BTreeMap, BTreeSet};

use sluice_policy::{ParsedFile, Policy, Problem, refuse_duplicates};

/// The last good document of each policy, by its name.
pub type LastGood = BTreeMap<String, Policy>;

/// What the policy directory means at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// The policies in force, by name: as they are in the files, or as they last were when they were good.
    pub policies: Vec<Policy>,
    /// Every file, with what is wrong with it.
    pub files: Vec<FileReport>,
    /// The policies that are in force only from memory.
    pub stale: Vec<Stale>,
    /// Why the directory cannot be read or watched.
    pub directory_problem: Option<String>,
    /// Why the last good policies could not be loaded or kept over a restart.
    pub store_problem: Option<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileReport {
    /// Its name in the directory.
    pub file: String,
    /// What is wrong with it and its documents.
    pub problems: Vec<Problem>,
}

/// A policy that stays in force although no file gives it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Name of the policy.
    pub policy: String,
    /// The file that is to blame.
    pub file: String,
}

/// A whole reading of the directory: every file is there, and a file that is not there was removed.
pub fn read_files(last_good: &LastGood, mut files: Vec<(String, ParsedFile)>) -> (LastGood, Snapshot) {
    refuse_duplicates(&mut files);
    let (mut now, mut refused, mut bad_files) = (LastGood::new(), BTreeMap::new(), BTreeSet::new());
    let mut reports = Vec::with_capacity(files.len());
    for (file, parsed) in files {
        let mut problems = parsed.problems;
        for document in parsed.documents {
            match document.result {
                Ok(policy) => {
                    now.insert(policy.name.clone(), policy);
                }
                Err(found) => {
                    problems.extend(found);
                    // An error without words would otherwise look like a good file.
                    bad_files.insert(file.clone());
                    refused.extend(document.name.map(|name| (name, file.clone())));
                }
            }
        }
        if !problems.is_empty() {
            bad_files.insert(file.clone());
        }
        reports.push(FileReport { file, problems });
    }
    let stale = keep(last_good, &mut now, &refused, &bad_files);
    let snapshot = Snapshot { files: reports, ..in_force(&now, stale) };
    (now, snapshot)
}

/// The directory could not be read: nothing is known of any file, so nothing changes.
pub fn unreadable(last_good: &LastGood, problem: String) -> Snapshot {
    let stale =
        last_good.values().map(|policy| Stale { policy: policy.name.clone(), file: policy.file.clone() });
    Snapshot { directory_problem: Some(problem), ..in_force(last_good, stale.collect()) }
}

/// Adds to `now` the earlier policies that no valid content has removed.
fn keep(
    last_good: &LastGood,
    now: &mut LastGood,
    refused: &BTreeMap<String, String>,
    bad_files: &BTreeSet<String>,
) -> Vec<Stale> {
    let mut stale = Vec::new();
    for (name, policy) in last_good {
        if now.contains_key(name) {
            continue;
        }
        let own_file = bad_files.contains(&policy.file).then_some(&policy.file);
        if let Some(file) = refused.get(name).or(own_file) {
            stale.push(Stale { policy: name.clone(), file: file.clone() });
            now.insert(name.clone(), policy.clone());
        }
    }
    stale
}

fn in_force(policies: &LastGood, stale: Vec<Stale>) -> Snapshot {
    Snapshot { policies: policies.values().cloned().collect(), stale, ..Snapshot::default() }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
