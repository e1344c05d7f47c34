//! Policies and a node to the plan of the node. The result depends on what is in the arguments, not
//! on their order.

mod claims;
mod failsafe;
mod interface;
mod labels;
mod reach;
mod sets;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};

use self::claims::{Claims, heights, links_by_index};
use self::sets::ResolvedNode;
use crate::select::without_match;
use crate::{LinkFacts, Node, NodePlan, Policy, PolicyReport, Warning};

/// Rules that policies may have on one interface together. The failsafe and `defaultAction` do not count.
pub const MAX_USER_RULES: usize = 1024;

/// Says what should be in force on a node under these policies.
#[must_use]
pub fn compile(policies: &[Policy], node: &Node) -> NodePlan {
    let mut policies: Vec<&Policy> = policies.iter().collect();
    policies.sort_by_key(|policy| (policy.priority, &policy.name));
    let mut links: Vec<&LinkFacts> = node.links.iter().collect();
    let by_index = links_by_index(&links);
    let heights = heights(&links, &by_index);
    links.sort_by_key(|link| (heights.get(&link.ifindex), link.ifindex));

    let mut plan = NodePlan::default();
    let mut claims = Claims::new(&policies, &links, &mut plan.skipped);
    claims.give_ports_to_their_bond(&links, &mut plan.skipped);
    plan.policies = policies.iter().map(|policy| report(policy, &links, &by_index, &claims)).collect();
    let resolved = ResolvedNode::new(node, &policies);
    let mut lists = BTreeSet::new();
    for link in &links {
        let claims = claims.of(link);
        if let Some(accepted) = interface::accept(&resolved, link, claims, &mut lists, &mut plan.policies) {
            warnings::add(&accepted, &resolved, &mut plan.policies);
            plan.interfaces.push(accepted.plan);
        }
    }
    plan.lists = lists.into_iter().collect();
    for report in &mut plan.policies {
        report.interfaces.sort_unstable();
    }
    plan.skipped.sort_by(|left, right| (left.ifindex, &left.policy).cmp(&(right.ifindex, &right.policy)));
    plan
}

fn report(
    policy: &Policy,
    links: &[&LinkFacts],
    by_index: &BTreeMap<u32, &LinkFacts>,
    claims: &Claims<'_>,
) -> PolicyReport {
    let mut warnings = without_match(policy, links);
    let has = |link: &LinkFacts| claims.of(link).iter().any(|(claimant, _)| claimant.name == policy.name);
    for link in links.iter().filter(|link| link.is_kind("vlan") && has(link)) {
        let parent = link.parent.and_then(|parent| by_index.get(&parent));
        if let Some(parent) = parent.filter(|parent| has(parent)) {
            let message = format!(
                "{} and {} below it are both selected: a tagged frame is seen twice. Select {} only.",
                link.name, parent.name, parent.name
            );
            warnings.push(Warning { reason: "SeenTwice", message });
        }
    }
    PolicyReport { name: policy.name.clone(), interfaces: Vec::new(), warnings, conflicts: Vec::new() }
}
