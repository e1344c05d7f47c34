//! What `status --check` calls a problem.

use sluice_ipc::v1alpha1::{
    AddressSetState, AddressSetStatus, InterfaceStatus, PolicyState, PolicyStatus, StatusReply,
};

/// How many things are not as their policy wants them. A fall back from native to generic under
/// mode Auto is none: it was asked for. A program that saw no traffic yet is none either.
pub fn count(reply: &StatusReply) -> usize {
    let of_agent = reply.agent.as_ref().map_or(1, |agent| agent.problems.len());
    let of_policies = reply.policies.iter().filter(|policy| is_bad_policy(policy)).count();
    let of_interfaces = reply.interfaces.iter().filter(|interface| is_bad_interface(interface)).count();
    let of_sets = reply.sets.iter().filter(|set| is_bad_set(set)).count();
    of_agent + of_policies + of_interfaces + of_sets
}

fn is_bad_policy(policy: &PolicyStatus) -> bool {
    policy.state() != PolicyState::InForce || !policy.problems.is_empty()
}

fn is_bad_set(set: &AddressSetStatus) -> bool {
    !matches!(set.state(), AddressSetState::Loaded | AddressSetState::Unused) || !set.problems.is_empty()
}

fn is_bad_interface(interface: &InterfaceStatus) -> bool {
    interface.mode_in_force.is_empty() || interface.verified == "Bypassed" || !interface.degraded.is_empty()
}
