//! Changes to the failsafe that do not hold, or that lock somebody out.

use ipnet::IpNet;

use super::defaults::is_default_drop;
use super::{Found, warn};
use crate::compile::failsafe::{Merged, traffic};
use crate::compile::interface::Accepted;
use crate::compile::reach::Reach;
use crate::failsafe::{Service, ServiceChange};
use crate::{Matcher, NodeFacts};

pub(super) fn find(accepted: &Accepted<'_>, reach: &mut Reach<'_>, facts: &NodeFacts, found: &mut Found) {
    let merged = Merged::of(accepted.policies.iter().map(|resolved| resolved.policy));
    not_in_force(&merged, &accepted.plan.name, found);
    for (service, (policy, change)) in &merged.changes {
        match change {
            ServiceChange::Sources(sources) => one_family(*service, &policy.name, sources, found),
            ServiceChange::Disabled => locked_out(*service, &policy.name, accepted, reach, facts, found),
        }
    }
}

fn not_in_force(merged: &Merged<'_>, interface: &str, found: &mut Found) {
    for (policy, service) in &merged.overruled {
        let Some((holder, change)) = merged.changes.get(service) else { continue };
        let (name, change) = (service.name(), in_words(change));
        let message = format!(
            "failsafe.services.{name} is different in policy {}, which comes first on {interface} and holds: {name} \
             {change}. Say the same in both, or change it in one policy only.",
            holder.name
        );
        warn(found, &policy.name, "FailsafeConflict", message);
    }
    for policy in &merged.idle {
        let message = format!(
            "failsafe has no effect on {interface} while this policy is a dry run: other policies there are enforced, \
             and a dry run changes no packet. Put the change into one of those, or enforce this policy."
        );
        warn(found, &policy.name, "FailsafeNotInForce", message);
    }
}

fn in_words(change: &ServiceChange) -> String {
    match change {
        ServiceChange::Disabled => "is off".to_owned(),
        ServiceChange::Sources(sources) => {
            let sources: Vec<String> = sources.iter().map(ToString::to_string).collect();
            format!("passes from {} only", sources.join(", "))
        }
    }
}

/// Narrowed to prefixes of one family, a service is off for the other.
fn one_family(service: Service, policy: &str, sources: &[IpNet], found: &mut Found) {
    use Service::{Dhcp, IcmpErrors, Kubelet, Overlay, Ssh};
    if !matches!(service, Ssh | Kubelet | Dhcp | IcmpErrors | Overlay) {
        return;
    }
    let is_v4 = |prefix: &IpNet| prefix.addr().is_ipv4();
    let (given, other) = match (sources.iter().any(is_v4), sources.iter().all(is_v4)) {
        (_, true) => ("IPv4", "IPv6"),
        (false, _) => ("IPv6", "IPv4"),
        _ => return,
    };
    let name = service.name();
    let message = format!(
        "failsafe.services.{name}.sources has {given} prefixes only: over {other} the failsafe does not pass {name}. \
         Add {other} prefixes if it is used over {other}."
    );
    warn(found, policy, "FailsafeOneFamily", message);
}

/// SSH and the kubelet are how people and the cluster get in.
fn locked_out(
    service: Service,
    policy: &str,
    accepted: &Accepted<'_>,
    reach: &mut Reach<'_>,
    facts: &NodeFacts,
    found: &mut Found,
) {
    if !matches!(service, Service::Ssh | Service::Kubelet) {
        return;
    }
    let rules = &accepted.plan.rules;
    let Some(default) = rules.iter().position(is_default_drop) else { return };
    for fields in traffic(service, facts) {
        let ports: Vec<String> = fields.destination_ports.iter().map(ToString::to_string).collect();
        let packets = reach.shape(&Matcher { fields, not: None });
        if reach.may_pass_some(&packets, default) {
            continue;
        }
        let (name, ports, dropper) = (service.name(), ports.join(", "), &rules[default].policy);
        let message = format!(
            "failsafe.services.{name} is off and no rule passes TCP to port {ports}: defaultAction Drop of policy \
             {dropper} takes all of it. Pass it in a rule, or give the service sources in place of disabled."
        );
        warn(found, policy, "FailsafeOff", message);
    }
}
