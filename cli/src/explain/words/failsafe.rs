//! The built-in failsafe in words: what it passes, and what a policy changes of it.

use sluice_policy::Failsafe;
use sluice_policy::failsafe::{Service, ServiceChange};

use super::{lists::any_of, matcher::fields};

/// Every service by name, as a policy writes it.
pub fn services() -> String {
    Service::ALL.iter().map(|service| service.name()).collect::<Vec<_>>().join(", ")
}

/// What a policy changes, a line each.
pub fn changes(failsafe: &Failsafe) -> Vec<String> {
    let services = failsafe.services.iter().map(|(service, change)| match change {
        ServiceChange::Disabled => format!("{} is off", service.name()),
        ServiceChange::Sources(sources) => format!("{} passes from {} only", service.name(), any_of(sources)),
    });
    let extra = failsafe.extra.iter().map(|extra| format!("{} passes too", fields(extra)));
    services.chain(extra).collect()
}
