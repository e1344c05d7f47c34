//! One name that several documents of a kind have, in one file or in several.

use std::collections::BTreeMap;

use crate::ParsedFile;
use crate::problem::{Finding, Problem, Reason, quote};

/// So many files are named that share a name; who has more sees the rest once these are mended.
const NAMED_FILES: usize = 3;

/// Refuses documents whose name is there twice, in one file or in several: which of them would be
/// in force must not depend on the order of reading. A policy and an address set may share a name.
pub fn refuse_duplicates(files: &mut [(String, ParsedFile)]) {
    refuse("policy", files, |parsed| {
        let documents = parsed.documents.iter_mut();
        documents.map(|document| Entry::new(document.name.as_deref(), &mut document.result)).collect()
    });
    refuse("set", files, |parsed| {
        let sets = parsed.sets.iter_mut();
        sets.map(|set| Entry::new(set.name.as_deref(), &mut set.result)).collect()
    });
}

/// A document, whatever it holds.
struct Entry<'a> {
    name: Option<&'a str>,
    refuse: Box<dyn FnMut(Problem) + 'a>,
}

impl<'a> Entry<'a> {
    fn new<T>(name: Option<&'a str>, result: &'a mut Result<T, Vec<Problem>>) -> Self {
        let refuse = move |problem| match result {
            Ok(_) => *result = Err(vec![problem]),
            Err(problems) => problems.push(problem),
        };
        Self { name, refuse: Box::new(refuse) }
    }
}

fn refuse(kind: &str, files: &mut [(String, ParsedFile)], entries: fn(&mut ParsedFile) -> Vec<Entry<'_>>) {
    // By name: how often each file has it.
    let mut places: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for (file, parsed) in &mut *files {
        for name in entries(parsed).iter().filter_map(|entry| entry.name) {
            *places.entry(name.to_owned()).or_default().entry(file.clone()).or_default() += 1;
        }
    }
    places.retain(|_, by_file| by_file.values().sum::<usize>() > 1);
    for (file, parsed) in files {
        for mut entry in entries(parsed) {
            let Some((name, by_file)) = entry.name.and_then(|name| places.get_key_value(name)) else {
                continue;
            };
            let problem = duplicate(kind, name, file, by_file);
            (entry.refuse)(if kind == "set" {
                problem.into_problem_of_set(file, Some(name))
            } else {
                problem.into_problem(file, Some(name))
            });
        }
    }
}

fn duplicate(kind: &str, name: &str, file: &str, by_file: &BTreeMap<String, usize>) -> Finding {
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
        format!("Give each {kind} a name of its own, or remove one of them"),
    )
}
