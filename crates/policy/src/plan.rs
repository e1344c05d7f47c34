//! The plan for a node: what should be in force on each interface, and what became of each policy.
//! It says what to do, never whether the kernel agreed.

use std::collections::BTreeSet;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::failsafe;
use crate::tables::{self, Bindings, CompiledRules, DoesNotFit};
use crate::{Action, Enforcement, Fields, Matcher, Mode, SetReference};

/// The name of the rule that a policy's `defaultAction` becomes. No rule may be called so.
pub const DEFAULT_ACTION: &str = "defaultAction";

/// Sources of which an interface remembers the rate: the one that was seen longest ago makes room for a new one.
pub const MAX_SOURCES: u32 = 65536;

/// What should be in force on a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePlan {
    /// By interface, in the order in which they are to be attached: a device comes before the
    /// devices on top of it, because the kernel refuses the reverse.
    pub interfaces: Vec<InterfacePlan>,
    /// By policy, in the order of evaluation.
    pub policies: Vec<PolicyReport>,
    /// Interfaces that a policy selects but cannot have.
    pub skipped: Vec<Skipped>,
    /// The lists of address sets that rules ask for, sorted, each once; at most
    /// [`sluice_ebpf_common::prefixes::MAX_LISTS`]. A list holds the names of its sets, sorted.
    pub lists: Vec<Vec<String>>,
}

/// What should be in force on one interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InterfacePlan {
    /// Interface index.
    pub ifindex: u32,
    /// Interface name.
    pub name: String,
    /// The mode that the policies ask for together.
    pub mode: Mode,
    /// Names of the policies, in the order of evaluation.
    pub policies: Vec<String>,
    /// Rules in the order of evaluation: the failsafe, then policy by policy its rules and its
    /// `defaultAction`. At most [`crate::MAX_USER_RULES`] of them are rules of policies.
    pub rules: Vec<PlannedRule>,
    /// How the first policy selects the interface, in words.
    pub matched_by: String,
}

/// A rule on an interface. Rules of the failsafe may share a name, and then share a counter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedRule {
    /// Name of the policy; [`failsafe::POLICY`] for the failsafe.
    pub policy: String,
    /// Name of the rule in the policy; [`DEFAULT_ACTION`] for its `defaultAction`.
    pub rule: String,
    /// Whether the policy's verdicts are carried out.
    pub enforcement: Enforcement,
    /// Index of the first rule behind the policy: where evaluation goes on when a dry run has decided.
    pub policy_end: usize,
    /// What it does.
    pub action: Action,
    /// What it matches.
    #[serde(rename = "match")]
    pub matcher: Matcher,
}

/// What became of a policy on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyReport {
    /// Name of the policy.
    pub name: String,
    /// Names of the interfaces that carry it, sorted.
    pub interfaces: Vec<String>,
    /// What is allowed but probably not meant.
    pub warnings: Vec<Warning>,
    /// Interfaces where it cannot be in force because of an earlier policy.
    pub conflicts: Vec<Conflict>,
}

/// Something that is allowed but probably not meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// `CamelCase` word.
    pub reason: &'static str,
    /// What, and what to do.
    pub message: String,
}

/// An interface that a policy cannot have because of an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// Interface name.
    pub interface: String,
    /// `CamelCase` word.
    pub reason: &'static str,
    /// What, and what to do.
    pub message: String,
}

/// An interface that a policy selects but cannot have because of what the interface is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// Interface name.
    pub interface: String,
    /// Interface index.
    pub ifindex: u32,
    /// Name of the policy.
    pub policy: String,
    /// `CamelCase` word.
    pub reason: &'static str,
    /// What, and what to do.
    pub message: String,
}

impl PlannedRule {
    /// Whether it belongs to the failsafe.
    #[must_use]
    pub fn is_failsafe(&self) -> bool {
        self.policy == failsafe::POLICY
    }

    /// Whether it is the `defaultAction` of its policy.
    #[must_use]
    pub fn is_default_action(&self) -> bool {
        self.rule == DEFAULT_ACTION
    }

    /// The name under which it counts, among [`InterfacePlan::counter_names`].
    #[must_use]
    pub fn counter_name(&self) -> String {
        tables::counter_name(self)
    }

    /// Of a rate limit: the name under which it counts what exceeds it.
    #[must_use]
    pub fn exceeded_counter_name(&self) -> Option<String> {
        matches!(self.action, Action::RateLimit(_)).then(|| tables::exceeded_name(self))
    }

    /// Whether it is written under `rules` of a policy.
    #[must_use]
    pub fn is_user_rule(&self) -> bool {
        !self.is_failsafe() && !self.is_default_action()
    }

    fn set_references(&self) -> impl Iterator<Item = &SetReference> {
        let fields = std::iter::once(&self.matcher.fields).chain(&self.matcher.not);
        fields.flat_map(Fields::set_references)
    }
}

impl InterfacePlan {
    /// The rules that are written under `rules` of a policy.
    pub fn user_rules(&self) -> impl Iterator<Item = &PlannedRule> {
        self.rules.iter().filter(|rule| rule.is_user_rule())
    }

    /// Whether packets may leave with a mark, so that something has to apply it.
    #[must_use]
    pub fn needs_marks(&self) -> bool {
        let marks = |rule: &PlannedRule| matches!(rule.action, Action::Mark(_));
        self.rules.iter().any(|rule| marks(rule) && rule.enforcement == Enforcement::Enforce)
    }

    /// The lists of address sets that the rules ask for, sorted, each once.
    #[must_use]
    pub fn lists(&self) -> Vec<Vec<String>> {
        let references = self.rules.iter().flat_map(PlannedRule::set_references);
        let lists: BTreeSet<Vec<String>> = references.map(|reference| reference.names.clone()).collect();
        lists.into_iter().collect()
    }

    /// Names the content of the plan: 16 hexadecimal digits over the rules in order. Two plans with
    /// the same digest count and decide alike; interface and mode are not part of it, and neither is what the
    /// address sets hold.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        // Rules are structures of texts, numbers and lists: their JSON has one form, the same in every process.
        match serde_json::to_vec(&self.rules) {
            Ok(text) => hash.update(text),
            Err(error) => hash.update(error.to_string()),
        }
        let first: [u8; 8] = hash.finalize().first_chunk().copied().unwrap_or_default();
        format!("{:016x}", u64::from_be_bytes(first))
    }

    /// The names under which the rules count, each once: `policy/rule`, and for a rate limit also what exceeds it.
    #[must_use]
    pub fn counter_names(&self) -> Vec<String> {
        let of_rule = |rule: &PlannedRule| [Some(rule.counter_name()), rule.exceeded_counter_name()];
        let mut seen = BTreeSet::new();
        self.rules.iter().flat_map(of_rule).flatten().filter(|name| seen.insert(name.clone())).collect()
    }

    /// How many sources rules with a rate for each may follow; 0 if there is no such rule.
    #[must_use]
    pub fn sources(&self) -> u32 {
        let per_source =
            |rule: &PlannedRule| matches!(&rule.action, Action::RateLimit(rate) if rate.per_source.is_some());
        if self.rules.iter().any(per_source) { MAX_SOURCES } else { 0 }
    }

    /// What a program instance is loaded with.
    ///
    /// # Errors
    /// If the plan is none that [`crate::compile`] makes, which tries this first.
    ///
    /// # Panics
    /// If a slot is not below [`sluice_ebpf_common::RULE_SLOTS`].
    pub fn compiled(&self, bindings: &Bindings) -> Result<CompiledRules, DoesNotFit> {
        tables::build(&self.rules, bindings)
    }
}
