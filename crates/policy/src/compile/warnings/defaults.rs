//! What a `defaultAction: Drop` takes that its user may not think of.

use super::{Found, warn};
use crate::compile::failsafe::TCP;
use crate::compile::reach::Reach;
use crate::{Action, Enforcement, Fields, InterfacePlan, Matcher, PlannedRule, TcpFlags};

/// The flag that every packet of an answered TCP connection has.
const ACK: u8 = 0x10;

pub(super) fn find(plan: &InterfacePlan, reach: &mut Reach<'_>, found: &mut Found) {
    let flags = TcpFlags { set: ACK, unset: 0 };
    let replies = Fields { protocol: Some(TCP), tcp_flags: Some(flags), ..Fields::default() };
    let replies = reach.shape(&Matcher { fields: replies, not: None });
    for (index, rule) in plan.rules.iter().enumerate() {
        if is_default_drop(rule) && !reach.passes_all(&replies, index) {
            let message = "defaultAction Drop: replies to this node's own connections are dropped unless a rule \
                           passes them. For TCP the usual rule is Pass with match {protocol: TCP, tcpFlags: {set: \
                           [ACK]}}.";
            warn(found, &rule.policy, "RepliesDropped", message.to_owned());
        }
        if let (Action::RateLimit(_), Some(default)) = (&rule.action, falls_to(plan, reach, index)) {
            let of = if default.policy == rule.policy {
                String::new()
            } else {
                format!(" of policy {}", default.policy)
            };
            let message = format!(
                "packets within the limit of rule {} fall to defaultAction Drop{of}. Add a Pass rule with the same \
                 match after it.",
                rule.rule
            );
            warn(found, &rule.policy, "RateLimitWithoutPass", message);
        }
    }
}

pub(super) fn is_default_drop(rule: &PlannedRule) -> bool {
    rule.is_default_action() && rule.action == Action::Drop
}

/// The `defaultAction: Drop` that takes every packet that the rule at `index` lets go on.
fn falls_to<'a>(plan: &'a InterfacePlan, reach: &Reach<'_>, index: usize) -> Option<&'a PlannedRule> {
    let rule = &plan.rules[index];
    let end = if rule.enforcement == Enforcement::DryRun { rule.policy_end } else { plan.rules.len() };
    let behind = (index + 1..end).map(|later| (later, &plan.rules[later]));
    let on_the_way =
        behind.filter(|(later, next)| *later < rule.policy_end || next.enforcement == Enforcement::Enforce);
    let mut deciding = on_the_way.filter(|(later, next)| {
        is_default_drop(next) || (next.action.passes() && reach.may_meet(index, *later))
    });
    deciding.next().map(|(_, next)| next).filter(|next| is_default_drop(next))
}
