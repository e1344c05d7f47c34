//! Policies and devices to the plan of a node. The result depends on what is in the arguments, not
//! on their order.

mod reach;

use std::collections::BTreeMap;

use sluice_ebpf_common::{MAX_RULES, PORT_CLASSES};

use crate::select::{Selection, select, without_match};
use crate::tables::PortClasses;
use crate::{
    Conflict, InterfacePlan, LinkFacts, Matcher, Mode, NodePlan, PlannedRule, Policy, PolicyReport, Skipped,
    Warning,
};

/// Says what should be in force on a node with these devices under these policies.
#[must_use]
pub fn compile(policies: &[Policy], links: &[LinkFacts]) -> NodePlan {
    let mut policies: Vec<&Policy> = policies.iter().collect();
    policies.sort_by_key(|policy| (policy.priority, &policy.name));
    let mut links: Vec<&LinkFacts> = links.iter().collect();
    let by_index = links_by_index(&links);
    let heights = heights(&links, &by_index);
    links.sort_by_key(|link| (heights.get(&link.ifindex), link.ifindex));

    let mut plan = NodePlan::default();
    let mut claims = Claims::new(&policies, &links, &mut plan.skipped);
    claims.give_ports_to_their_bond(&links, &mut plan.skipped);
    plan.policies = policies.iter().map(|policy| report(policy, &links, &by_index, &claims)).collect();
    for link in &links {
        if let Some(interface) = interface(link, claims.of(link), &mut plan.policies) {
            plan.interfaces.push(interface);
        }
    }
    for report in &mut plan.policies {
        report.interfaces.sort_unstable();
    }
    reach::warn(&plan.interfaces, &mut plan.policies);
    plan.skipped.sort_by(|left, right| (left.ifindex, &left.policy).cmp(&(right.ifindex, &right.policy)));
    plan
}

fn links_by_index<'a>(links: &[&'a LinkFacts]) -> BTreeMap<u32, &'a LinkFacts> {
    links.iter().map(|link| (link.ifindex, *link)).collect()
}

/// By index of a device, how many devices lie below it. The index below a veth is that of its other end.
fn heights(links: &[&LinkFacts], by_index: &BTreeMap<u32, &LinkFacts>) -> BTreeMap<u32, u32> {
    const DEEPEST: u32 = 8; // The kernel's own limit for nested devices.
    let mut above_below = Vec::new();
    for link in links {
        let parent = link.parent.filter(|_| !link.is_kind("veth"));
        above_below.extend(parent.map(|parent| (link.ifindex, parent)));
        above_below.extend(link.master.as_ref().map(|master| (master.ifindex, link.ifindex)));
    }
    above_below.retain(|(above, below)| above != below && by_index.contains_key(below));
    let mut heights: BTreeMap<u32, u32> = BTreeMap::new();
    for _ in 0..DEEPEST {
        let mut higher: BTreeMap<u32, u32> = BTreeMap::new();
        for (above, below) in &above_below {
            let height = 1 + heights.get(below).copied().unwrap_or_default();
            higher.entry(*above).and_modify(|known| *known = height.max(*known)).or_insert(height);
        }
        if higher == heights {
            break;
        }
        heights = higher;
    }
    heights
}

/// Which policies want which device, and by what.
struct Claims<'a> {
    by_link: BTreeMap<u32, Vec<(&'a Policy, String)>>,
}

impl<'a> Claims<'a> {
    fn new(policies: &[&'a Policy], links: &[&LinkFacts], skipped: &mut Vec<Skipped>) -> Self {
        let mut by_link: BTreeMap<u32, Vec<(&Policy, String)>> = BTreeMap::new();
        for policy in policies {
            for link in links {
                match select(policy, link) {
                    Selection::No => {}
                    Selection::Yes { by } => by_link.entry(link.ifindex).or_default().push((policy, by)),
                    Selection::Refused { reason, message } => {
                        skipped.push(skip(link, policy, reason, message));
                    }
                }
            }
        }
        Self { by_link }
    }

    fn of(&self, link: &LinkFacts) -> &[(&'a Policy, String)] {
        self.by_link.get(&link.ifindex).map_or(&[], Vec::as_slice)
    }

    /// The kernel refuses a program on the port of a bond that has one, so the bond goes first,
    /// whichever policy asked for it.
    fn give_ports_to_their_bond(&mut self, links: &[&LinkFacts], skipped: &mut Vec<Skipped>) {
        let bonds: BTreeMap<u32, &str> = links
            .iter()
            .filter(|link| link.is_bond() && !self.of(link).is_empty())
            .map(|link| (link.ifindex, link.name.as_str()))
            .collect();
        for link in links {
            let Some(bond) = link.master.as_ref().and_then(|master| bonds.get(&master.ifindex)) else {
                continue;
            };
            for (policy, _) in self.by_link.remove(&link.ifindex).unwrap_or_default() {
                let message = format!(
                    "{} is a port of {bond}, which is selected too. The program on {bond} sees its packets.",
                    link.name
                );
                skipped.push(skip(link, policy, "EnslavedToSelected", message));
            }
        }
    }
}

fn skip(link: &LinkFacts, policy: &Policy, reason: &'static str, message: String) -> Skipped {
    let (interface, policy) = (link.name.clone(), policy.name.clone());
    Skipped { interface, ifindex: link.ifindex, policy, reason, message }
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

/// Puts the claims on a device together, in order. A policy that does not fit to those before it is
/// left out as a whole, on this device only.
fn interface(
    link: &LinkFacts,
    claims: &[(&Policy, String)],
    reports: &mut [PolicyReport],
) -> Option<InterfacePlan> {
    let (_, matched_by) = claims.first()?;
    let (ifindex, name) = (link.ifindex, link.name.clone());
    let (policies, rules, matched_by) = (Vec::new(), Vec::new(), matched_by.clone());
    let mut plan = InterfacePlan { ifindex, name, mode: Mode::Auto, policies, rules, matched_by };
    let mut mode_of = "";
    for (policy, _) in claims {
        let Some(report) = reports.iter_mut().find(|report| report.name == policy.name) else {
            continue;
        };
        let conflict = mode_conflict(&plan, mode_of, policy).or_else(|| room_conflict(&plan, policy));
        if let Some((reason, message)) = conflict {
            report.conflicts.push(Conflict { interface: plan.name.clone(), reason, message });
            continue;
        }
        if plan.mode == Mode::Auto && policy.mode != Mode::Auto {
            plan.mode = policy.mode;
            mode_of = &policy.name;
        }
        plan.rules.extend(planned(policy));
        plan.policies.push(policy.name.clone());
        report.interfaces.push(plan.name.clone());
    }
    (!plan.policies.is_empty()).then_some(plan)
}

fn planned(policy: &Policy) -> impl Iterator<Item = PlannedRule> {
    policy.rules.iter().map(|rule| PlannedRule {
        policy: policy.name.clone(),
        rule: rule.name.clone(),
        action: rule.action.clone(),
        matcher: rule.matcher.clone(),
        enforcement: policy.enforcement,
    })
}

/// Auto follows what others ask for; Native and Generic exclude each other.
fn mode_conflict(plan: &InterfacePlan, mode_of: &str, policy: &Policy) -> Option<(&'static str, String)> {
    let is_conflict = plan.mode != Mode::Auto && policy.mode != Mode::Auto && plan.mode != policy.mode;
    let message = || {
        format!(
            "policy {mode_of} comes first on {} and asks for mode {}; this policy asks for {}. Use one mode, or Auto.",
            plan.name,
            plan.mode.as_str(),
            policy.mode.as_str()
        )
    };
    is_conflict.then(|| ("ModeConflict", message()))
}

fn room_conflict(plan: &InterfacePlan, policy: &Policy) -> Option<(&'static str, String)> {
    let (before, more) = (plan.rules.len(), policy.rules.len());
    if before + more > MAX_RULES {
        let message = format!(
            "{} carries {before} rules of earlier policies, and at most {MAX_RULES}: there is no room for {more} more. \
             Select fewer interfaces, or join rules.",
            plan.name
        );
        return Some(("TooManyRules", message));
    }
    let matchers: Vec<&Matcher> = plan
        .rules
        .iter()
        .map(|rule| &rule.matcher)
        .chain(policy.rules.iter().map(|rule| &rule.matcher))
        .collect();
    let classes = PortClasses::of(&matchers).vectors.len();
    (classes > PORT_CLASSES).then(|| {
        let message = format!(
            "with earlier policies the port ranges on {} would overlap in {classes} different ways, and at most \
             {PORT_CLASSES} are possible. Use fewer ranges.",
            plan.name
        );
        ("TooManyPortClasses", message)
    })
}
