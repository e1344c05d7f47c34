//! The address sets of a reading: those of the files, and those that stay from before. Pure.
//!
//! A set leaves only when no rule names it any more, and only by a valid reading without it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_policy::{CidrSet, Policy, Problem, Reason};

/// Sets by their names.
pub type Sets = BTreeMap<String, Arc<CidrSet>>;

/// A set that is on the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSet {
    /// What it holds.
    pub set: Arc<CidrSet>,
    /// Why it is not what the directory says now.
    pub kept: Option<Kept>,
}

/// Why a set stays as it last was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It is no longer there, but a rule names it.
    Gone,
    /// It cannot be read as it is now.
    Unreadable,
}

/// The sets of the files as they are now: an equal set is the one from before, so that it is known to be the same.
pub fn reuse(before: &Sets, set: CidrSet) -> Arc<CidrSet> {
    let known = before.get(&set.name).filter(|known| ***known == set);
    known.map_or_else(|| Arc::new(set), Arc::clone)
}

/// The sets from before that are not there now, with why they would stay.
pub fn candidates(
    before: &Sets,
    now: &Sets,
    refused: &BTreeSet<String>,
    bad_files: &BTreeSet<String>,
) -> BTreeMap<String, Kept> {
    let missing = before.iter().filter(|(name, _)| !now.contains_key(*name));
    let kept = missing.map(|(name, set)| {
        let is_unreadable = refused.contains(name) || bad_files.contains(&set.file);
        (name.clone(), if is_unreadable { Kept::Unreadable } else { Kept::Gone })
    });
    kept.collect()
}

/// Names of the sets that the rules of a policy name, each with the first rule that does.
pub fn named(policy: &Policy) -> BTreeMap<&str, &str> {
    let mut named = BTreeMap::new();
    for rule in &policy.rules {
        let fields = std::iter::once(&rule.matcher.fields).chain(&rule.matcher.not);
        for name in
            fields.flat_map(sluice_policy::Fields::set_references).flat_map(|reference| &reference.names)
        {
            named.entry(name.as_str()).or_insert(rule.name.as_str());
        }
    }
    named
}

/// What a policy names that is not known, in words a user can act on; `None` if everything is known.
pub fn missing(policy: &Policy, is_known: impl Fn(&str) -> bool) -> Option<Problem> {
    let named = named(policy);
    let missing: Vec<String> = named
        .iter()
        .filter(|(set, _)| !is_known(set))
        .map(|(set, rule)| format!("rule {rule} names {set}"))
        .collect();
    (!missing.is_empty()).then(|| Problem {
        file: policy.file.clone(),
        policy: Some(policy.name.clone()),
        field: "spec.rules".to_owned(),
        reason: Reason::CidrSetNotFound,
        message: format!("{}, and this node has no such XdpCidrSet", missing.join("; ")),
        fix: "Create it, and the policy comes into force by itself; or correct the name.".to_owned(),
    })
}
