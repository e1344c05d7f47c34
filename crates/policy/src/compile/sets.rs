//! References to address sets, resolved to names of sets that the node has.

use std::collections::{BTreeMap, BTreeSet};

use super::labels::selects;
use crate::{Fields, Node, NodeFacts, Policy, Rule, SetFacts, SetReference, Warning};

/// A policy whose references are resolved.
pub(super) struct Resolved<'a> {
    pub policy: &'a Policy,
    /// Its rules; every reference in them holds names only, sorted, each once.
    pub rules: Vec<Rule>,
    /// What it names that the node does not have, in words, such as `rule r names drop-list`.
    pub missing: Vec<String>,
    /// Selectors that select nothing.
    pub warnings: Vec<Warning>,
}

impl Resolved<'_> {
    /// The distinct lists of sets that the rules ask for.
    pub fn lists(&self) -> BTreeSet<Vec<String>> {
        let matchers = self.rules.iter().map(|rule| &rule.matcher);
        let fields = matchers.flat_map(|matcher| std::iter::once(&matcher.fields).chain(&matcher.not));
        fields.flat_map(Fields::set_references).map(|reference| reference.names.clone()).collect()
    }
}

/// A node whose policies are resolved.
pub(super) struct ResolvedNode<'a> {
    pub facts: &'a NodeFacts,
    pub sets: Sets<'a>,
    /// By name.
    pub policies: BTreeMap<&'a str, Resolved<'a>>,
}

impl<'a> ResolvedNode<'a> {
    pub fn new(node: &'a Node, policies: &[&'a Policy]) -> Self {
        let sets = Sets::new(&node.sets);
        let policies = policies.iter().map(|policy| (policy.name.as_str(), sets.resolve(policy))).collect();
        Self { facts: &node.facts, sets, policies }
    }
}

/// The sets of the node.
pub(super) struct Sets<'a> {
    by_name: BTreeMap<&'a str, &'a SetFacts>,
}

impl<'a> Sets<'a> {
    pub fn new(sets: &'a [SetFacts]) -> Self {
        Self { by_name: sets.iter().map(|set| (set.name.as_str(), set)).collect() }
    }

    pub fn get(&self, name: &str) -> Option<&'a SetFacts> {
        self.by_name.get(name).copied()
    }

    pub fn resolve<'p>(&self, policy: &'p Policy) -> Resolved<'p> {
        let (missing, warnings) = (Vec::new(), Vec::new());
        let mut resolved = Resolved { policy, rules: policy.rules.clone(), missing, warnings };
        for rule in &mut resolved.rules {
            let name = &rule.name;
            let parts = [("", Some(&mut rule.matcher.fields)), ("not.", rule.matcher.not.as_mut())];
            for (prefix, fields) in parts {
                let Some(Fields { source_sets, destination_sets, .. }) = fields else { continue };
                for (reference, field) in [(source_sets, "sourceSets"), (destination_sets, "destinationSets")]
                {
                    let Some(reference) = reference else { continue };
                    let place = format!("rule {name} ({prefix}{field})");
                    resolved.missing.extend(self.missing(reference, &place));
                    resolved.warnings.extend(self.resolve_reference(reference, &place));
                }
            }
        }
        resolved
    }

    fn missing(&self, reference: &SetReference, place: &str) -> Option<String> {
        let missing = reference.names.iter().filter(|name| self.get(name).is_none());
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        (!missing.is_empty()).then(|| format!("{place} names {}", missing.join(", ")))
    }

    /// Puts the names of the selected sets in the place of the selector, and warns if there are none.
    fn resolve_reference(&self, reference: &mut SetReference, place: &str) -> Option<Warning> {
        let mut names: BTreeSet<String> = reference.names.drain(..).collect();
        let selector = reference.selector.take();
        let before = names.len();
        let sets = selector.as_ref().into_iter().flat_map(|selector| self.selected(selector));
        let selected: Vec<String> = sets.map(|set| set.name.clone()).collect();
        let is_void = selector.is_some() && selected.is_empty();
        names.extend(selected);
        reference.names = names.into_iter().collect();
        is_void.then(|| {
            let rest =
                if before == 0 { "the field fits no packet" } else { "only the named sets are looked at" };
            let message = format!(
                "{place}: no XdpCidrSet of this node has labels that the selector asks for, so {rest}. \
                 Label the sets that are meant, or correct the selector."
            );
            Warning { reason: "NoSetSelected", message }
        })
    }

    fn selected(
        &self,
        selector: &k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector,
    ) -> impl Iterator<Item = &'a SetFacts> {
        self.by_name.values().copied().filter(|set| selects(selector, &set.labels))
    }
}
