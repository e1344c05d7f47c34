//! The plan for a node: what should be in force on each interface, and what became of each policy.
//! It says what to do, never whether the kernel agreed.

use serde::Serialize;
use sha2::{Digest, Sha256};
use sluice_ebpf_common::Tables;

use crate::{Action, Enforcement, Matcher, Mode};

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
    /// Rules in the order of evaluation; at most [`sluice_ebpf_common::MAX_RULES`].
    pub rules: Vec<PlannedRule>,
    /// How the first policy selects the interface, in words.
    pub matched_by: String,
}

/// A rule on an interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedRule {
    /// Name of the policy.
    pub policy: String,
    /// Name of the rule in the policy.
    pub rule: String,
    /// What it does.
    pub action: Action,
    /// What it matches.
    #[serde(rename = "match")]
    pub matcher: Matcher,
    /// Whether what it decides is carried out.
    #[serde(skip)]
    pub enforcement: Enforcement,
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

impl InterfacePlan {
    /// Names the content of the plan: 16 hexadecimal digits over the rules in order. Two plans with
    /// the same digest count and decide alike; interface and mode are not part of it.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for rule in &self.rules {
            digest_text(&mut hash, &rule.policy);
            digest_text(&mut hash, &rule.rule);
            digest_text(&mut hash, rule.action.as_str());
            digest_text(
                &mut hash,
                &rule.matcher.fields.protocol.map_or(String::new(), |number| number.to_string()),
            );
            hash.update((rule.matcher.fields.destination_ports.len() as u64).to_le_bytes());
            for range in &rule.matcher.fields.destination_ports {
                hash.update(range.first.to_le_bytes());
                hash.update(range.last.to_le_bytes());
            }
        }
        let first: [u8; 8] = hash.finalize().first_chunk().copied().unwrap_or_default();
        format!("{:016x}", u64::from_be_bytes(first))
    }

    /// The tables of the program instance. `slots` has the counter slot of each rule, in order.
    ///
    /// # Panics
    /// If the plan is none that [`crate::compile`] makes (too many rules or classes of ports), or if `slots`
    /// does not have one slot below [`sluice_ebpf_common::RULE_SLOTS`] for each rule.
    #[must_use]
    pub fn tables(&self, slots: &[u16]) -> Box<Tables> {
        crate::tables::build(&self.rules, slots)
    }
}

/// The length first, so that no two lists of words have the same bytes.
fn digest_text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}
