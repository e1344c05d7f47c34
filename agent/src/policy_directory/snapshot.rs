//! From what the files hold now, and what was in force, to what is in force. Pure.
//!
//! A policy leaves only by a valid reading without it: invalid content never takes one away.

use std::collections::{BTreeMap, BTreeSet};

use sluice_policy::{ParsedFile, Policy, Problem, is_set_file, refuse_duplicates};

use super::sets::{Kept, KnownSet, Sets, candidates, missing, named, reuse};

/// Policies by their names.
pub type Policies = BTreeMap<String, Policy>;

/// The last good document of each policy, and of each address set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LastGood {
    /// The policies.
    pub policies: Policies,
    /// The sets.
    pub sets: Sets,
}

/// What the policy directory means at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// The policies in force, by name: as they are in the files, or as they last were when they were good.
    pub policies: Vec<Policy>,
    /// The address sets, likewise.
    pub sets: Vec<KnownSet>,
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
    /// What is wrong with it and its policies.
    pub problems: Vec<Problem>,
    /// What is wrong with its address sets, each with the name of the set if it has one.
    pub of_sets: Vec<(Option<String>, Problem)>,
}

/// A policy that stays in force although no file gives it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Name of the policy.
    pub policy: String,
    /// The file that is to blame.
    pub file: String,
}

/// What the files say, before anything from before is taken into account.
#[derive(Default)]
struct Found {
    policies: Policies,
    sets: Sets,
    /// The file of each policy that was refused.
    refused: BTreeMap<String, String>,
    refused_sets: BTreeSet<String>,
    bad_files: BTreeSet<String>,
    reports: Vec<FileReport>,
}

/// A whole reading of the directory: every file is there, and a file that is not there was removed.
pub fn read_files(last_good: &LastGood, mut files: Vec<(String, ParsedFile)>) -> (LastGood, Snapshot) {
    refuse_duplicates(&mut files);
    let mut found = Found::default();
    for (file, parsed) in files {
        found.add(last_good, file, parsed);
    }
    let Found { mut policies, mut sets, refused, refused_sets, bad_files, mut reports } = found;
    let mut stale = keep(&last_good.policies, &mut policies, &refused, &bad_files);
    let kept = candidates(&last_good.sets, &sets, &refused_sets, &bad_files);
    let is_known = |name: &str| sets.contains_key(name) || kept.contains_key(name);
    wait_for_sets(&last_good.policies, &mut policies, &mut stale, &mut reports, is_known);
    let wanted: BTreeSet<&str> = policies.values().flat_map(|policy| named(policy).into_keys()).collect();
    let stay = |(name, kept): &(&String, &Kept)| **kept == Kept::Unreadable || wanted.contains(name.as_str());
    let kept: BTreeMap<String, Kept> =
        kept.iter().filter(stay).map(|(name, kept)| (name.clone(), *kept)).collect();
    let from_before = last_good.sets.iter().filter(|(name, _)| kept.contains_key(*name));
    sets.extend(from_before.map(|(name, set)| (name.clone(), set.clone())));
    let now = LastGood { policies, sets };
    let snapshot = Snapshot { files: reports, ..in_force(&now, stale, |name| kept.get(name).copied()) };
    (now, snapshot)
}

/// The directory could not be read: nothing is known of any file, so nothing changes.
pub fn unreadable(last_good: &LastGood, problem: String) -> Snapshot {
    let policies = last_good.policies.values();
    let stale = policies.map(|policy| Stale { policy: policy.name.clone(), file: policy.file.clone() });
    let snapshot = in_force(last_good, stale.collect(), |_| Some(Kept::Unreadable));
    Snapshot { directory_problem: Some(problem), ..snapshot }
}

impl Found {
    fn add(&mut self, last_good: &LastGood, file: String, parsed: ParsedFile) {
        let mut report = FileReport { file, problems: Vec::new(), of_sets: Vec::new() };
        if is_set_file(report.file.as_ref()) {
            report.of_sets.extend(parsed.problems.into_iter().map(|problem| (None, problem)));
        } else {
            report.problems = parsed.problems;
        }
        let mut is_bad = !(report.problems.is_empty() && report.of_sets.is_empty());
        for document in parsed.documents {
            match document.result {
                Ok(policy) => drop(self.policies.insert(policy.name.clone(), policy)),
                Err(found) => {
                    report.problems.extend(found);
                    // An error without words would otherwise look like a good file.
                    is_bad = true;
                    self.refused.extend(document.name.map(|name| (name, report.file.clone())));
                }
            }
        }
        for set in parsed.sets {
            match set.result {
                Ok(set) => drop(self.sets.insert(set.name.clone(), reuse(&last_good.sets, set))),
                Err(found) => {
                    report.of_sets.extend(found.into_iter().map(|problem| (set.name.clone(), problem)));
                    is_bad = true;
                    self.refused_sets.extend(set.name);
                }
            }
        }
        if is_bad {
            self.bad_files.insert(report.file.clone());
        }
        self.reports.push(report);
    }
}

/// Adds to `now` the earlier policies that no valid content has removed.
fn keep(
    last_good: &Policies,
    now: &mut Policies,
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

/// A policy that names a set which is not known is not in force; what it was before stays.
fn wait_for_sets(
    last_good: &Policies,
    now: &mut Policies,
    stale: &mut Vec<Stale>,
    reports: &mut [FileReport],
    is_known: impl Fn(&str) -> bool,
) {
    let problems: Vec<Problem> = now.values().filter_map(|policy| missing(policy, &is_known)).collect();
    for problem in problems {
        let Some(waiting) = problem.policy.as_ref().and_then(|name| now.remove(name)) else { continue };
        let earlier = last_good.get(&waiting.name).filter(|earlier| missing(earlier, &is_known).is_none());
        stale.retain(|stale| stale.policy != waiting.name);
        if let Some(earlier) = earlier {
            stale.push(Stale { policy: waiting.name.clone(), file: waiting.file.clone() });
            now.insert(waiting.name.clone(), earlier.clone());
        }
        if let Some(report) = reports.iter_mut().find(|report| report.file == waiting.file) {
            report.problems.push(problem);
        }
    }
}

fn in_force(good: &LastGood, stale: Vec<Stale>, kept: impl Fn(&str) -> Option<Kept>) -> Snapshot {
    let sets = good.sets.iter().map(|(name, set)| KnownSet { set: set.clone(), kept: kept(name) });
    let (policies, sets) = (good.policies.values().cloned().collect(), sets.collect());
    Snapshot { policies, sets, stale, ..Snapshot::default() }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
