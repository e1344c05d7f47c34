//! The policies of one interface, put together in order. A policy that does not fit to those before it is
//! left out as a whole, on this interface only.

use std::collections::BTreeSet;

use sluice_ebpf_common::prefixes::MAX_LISTS;

use super::MAX_USER_RULES;
use super::failsafe::Merged;
use super::sets::{Resolved, ResolvedNode};
use crate::tables::{self, Bindings};
use crate::{
    Action, Conflict, DEFAULT_ACTION, DefaultAction, Enforcement, InterfacePlan, LinkFacts, Matcher, Mode,
    NodeFacts, PlannedRule, Policy, PolicyReport, Rule, failsafe,
};

/// An interface and the policies that have been accepted on it.
pub(super) struct Accepted<'a> {
    pub plan: InterfacePlan,
    pub policies: Vec<&'a Resolved<'a>>,
    /// The first policy that asked for the mode.
    mode_of: &'a str,
}

/// Why a policy is left out: a word, and what to do.
type Refusal = (&'static str, String);

/// Puts the claims on a device together. `lists` are the lists of address sets on the node so far.
pub(super) fn accept<'a>(
    node: &'a ResolvedNode<'a>,
    link: &LinkFacts,
    claims: &[(&Policy, String)],
    lists: &mut BTreeSet<Vec<String>>,
    reports: &mut [PolicyReport],
) -> Option<Accepted<'a>> {
    let (_, matched_by) = claims.first()?;
    let mut accepted = Accepted::nothing(link, matched_by.clone());
    for (policy, _) in claims {
        let Some(report) = reports.iter_mut().find(|report| report.name == policy.name) else { continue };
        let Some(policy) = node.policies.get(policy.name.as_str()) else { continue };
        if let Some((reason, message)) = accepted.refusal(policy, lists, node.facts) {
            report.conflicts.push(Conflict { interface: link.name.clone(), reason, message });
            continue;
        }
        accepted.add(policy, node.facts);
        lists.extend(policy.lists());
        report.interfaces.push(link.name.clone());
    }
    (!accepted.policies.is_empty()).then_some(accepted)
}

impl<'a> Accepted<'a> {
    fn nothing(link: &LinkFacts, matched_by: String) -> Self {
        let plan = InterfacePlan {
            ifindex: link.ifindex,
            name: link.name.clone(),
            mode: Mode::Auto,
            policies: Vec::new(),
            rules: Vec::new(),
            matched_by,
        };
        Self { plan, policies: Vec::new(), mode_of: "" }
    }

    fn refusal(
        &self,
        policy: &Resolved<'_>,
        lists: &BTreeSet<Vec<String>>,
        facts: &NodeFacts,
    ) -> Option<Refusal> {
        missing_sets(policy)
            .or_else(|| self.mode_conflict(policy.policy))
            .or_else(|| self.rule_conflict(policy.policy))
            .or_else(|| list_conflict(policy, lists))
            .or_else(|| self.table_conflict(policy, facts))
    }

    fn add(&mut self, resolved: &'a Resolved<'a>, facts: &NodeFacts) {
        let policy = resolved.policy;
        if self.plan.mode == Mode::Auto && policy.mode != Mode::Auto {
            self.plan.mode = policy.mode;
            self.mode_of = &policy.name;
        }
        self.policies.push(resolved);
        self.plan.policies.push(policy.name.clone());
        self.plan.rules = planned(&self.policies, facts);
    }

    /// Auto follows what others ask for; Native and Generic exclude each other.
    fn mode_conflict(&self, policy: &Policy) -> Option<Refusal> {
        let (asked, name) = (self.plan.mode, &self.plan.name);
        let is_conflict = asked != Mode::Auto && policy.mode != Mode::Auto && asked != policy.mode;
        let message = || {
            format!(
                "policy {} comes first on {name} and asks for mode {}; this policy asks for {}. Use one mode, or Auto.",
                self.mode_of,
                asked.as_str(),
                policy.mode.as_str()
            )
        };
        is_conflict.then(|| ("ModeConflict", message()))
    }

    fn rule_conflict(&self, policy: &Policy) -> Option<Refusal> {
        let (before, more) = (self.plan.user_rules().count(), policy.rules.len());
        (before + more > MAX_USER_RULES).then(|| {
            let message = format!(
                "{} carries {before} rules of earlier policies, and at most {MAX_USER_RULES}: there is no room for {more} more. \
                 Select fewer interfaces, or join rules.",
                self.plan.name
            );
            ("TooManyRules", message)
        })
    }

    /// Whether the tables of the program hold the rules, those of the failsafe included.
    fn table_conflict(&self, policy: &Resolved<'_>, facts: &NodeFacts) -> Option<Refusal> {
        let together: Vec<&Resolved<'_>> = self.policies.iter().copied().chain([policy]).collect();
        let rules = planned(&together, facts);
        if tables::surely_fit(&rules) {
            return None;
        }
        let refused = tables::build(&rules, &Bindings::default()).err()?;
        let message = format!(
            "with earlier policies the rules on {} need more {} than there may be ({}). Select fewer interfaces, join rules, \
             or put their addresses into an XdpCidrSet.",
            self.plan.name, refused.what, refused.most
        );
        Some(("TooManyClasses", message))
    }
}

fn missing_sets(policy: &Resolved<'_>) -> Option<Refusal> {
    (!policy.missing.is_empty()).then(|| {
        let message = format!(
            "{}, and this node has no such XdpCidrSet. Create it, or correct the name.",
            policy.missing.join("; ")
        );
        ("CidrSetNotFound", message)
    })
}

fn list_conflict(policy: &Resolved<'_>, lists: &BTreeSet<Vec<String>>) -> Option<Refusal> {
    let (before, more) = (lists.len(), policy.lists().difference(lists).count());
    (before + more > MAX_LISTS).then(|| {
        let message = format!(
            "the rules of this node ask for {before} different lists of address sets, and at most {MAX_LISTS} are \
             possible: there is no room for {more} more. Refer to the same sets together, or put them under one label."
        );
        ("TooManySetLists", message)
    })
}

/// The rules of policies in order, with the failsafe before and every `defaultAction` at its place.
fn planned(policies: &[&Resolved<'_>], facts: &NodeFacts) -> Vec<PlannedRule> {
    let mut rules = Vec::new();
    let merged = Merged::of(policies.iter().map(|resolved| resolved.policy));
    append(&mut rules, failsafe::POLICY, Enforcement::Enforce, merged.rules(facts));
    for Resolved { policy, rules: own, .. } in policies {
        let own = own.iter().cloned().chain(policy.default_action.map(default_rule));
        append(&mut rules, &policy.name, policy.enforcement, own.collect());
    }
    rules
}

fn append(rules: &mut Vec<PlannedRule>, policy: &str, enforcement: Enforcement, more: Vec<Rule>) {
    let policy_end = rules.len() + more.len();
    rules.extend(more.into_iter().map(|rule| PlannedRule {
        policy: policy.to_owned(),
        rule: rule.name,
        enforcement,
        policy_end,
        action: rule.action,
        matcher: rule.matcher,
    }));
}

fn default_rule(action: DefaultAction) -> Rule {
    let action = match action {
        DefaultAction::Pass => Action::Pass,
        DefaultAction::Drop => Action::Drop,
    };
    Rule { name: DEFAULT_ACTION.to_owned(), matcher: Matcher::default(), action }
}
