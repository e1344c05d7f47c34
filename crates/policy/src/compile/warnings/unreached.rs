//! Rules that no packet reaches.

use std::collections::BTreeMap;

use super::{Found, warn};
use crate::compile::reach::Reach;
use crate::{InterfacePlan, PlannedRule};

/// Most rules that a message names.
const MOST: usize = 5;

pub(super) fn find(plan: &InterfacePlan, reach: &Reach<'_>, found: &mut Found) {
    // Rules of one policy behind the same others are told together: behind a defaultAction all are.
    let mut groups: BTreeMap<(usize, Vec<usize>), Vec<&PlannedRule>> = BTreeMap::new();
    for (index, deciders) in reach.unreached() {
        let rule = &plan.rules[index];
        groups.entry((rule.policy_end, deciders)).or_default().push(rule);
    }
    for ((_, deciders), rules) in groups {
        let deciders: Vec<&PlannedRule> = deciders.into_iter().map(|index| &plan.rules[index]).collect();
        warn(found, &rules[0].policy, "RuleNeverReached", message(&plan.name, &rules, &deciders));
    }
}

fn message(interface: &str, rules: &[&PlannedRule], deciders: &[&PlannedRule]) -> String {
    let names = list(rules.iter().map(|rule| rule.rule.clone()).collect());
    let before = list(deciders.iter().map(|rule| format!("{}/{}", rule.policy, rule.rule)).collect());
    let (rule_word, is, them, they_match) = match rules {
        [_] => ("rule", "is", "it", "it matches"),
        _ => ("rules", "are", "them", "they match"),
    };
    let decide = if deciders.len() == 1 { "decides" } else { "decide" };
    let advice = if deciders.iter().any(|rule| rule.is_failsafe()) {
        "narrow the failsafe"
    } else if deciders.iter().all(|rule| rule.policy == rules[0].policy) {
        "move the narrower match up"
    } else {
        "give this policy the lower priority number"
    };
    format!(
        "{rule_word} {names} {is} never reached on {interface}: {before} before {them} {decide} about all that \
         {they_match}. Remove {them}, or {advice}."
    )
}

fn list(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MOST);
    let shown = names.into_iter().take(MOST).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
