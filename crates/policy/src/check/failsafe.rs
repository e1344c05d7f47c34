//! Changes to the built-in failsafe.

use std::collections::BTreeMap;

use serde_json::Value;

use super::contradictions::{self, Protocol};
use super::list::{each, each_text, elements};
use super::{addresses, ports, protocol};
use crate::failsafe::{Service, ServiceChange};
use crate::problem::{Finding, Findings, Reason, quote};
use crate::schema::{field_path, suggest_value};
use crate::{Failsafe, Fields};

/// Reads `spec.failsafe`.
pub(super) fn check(path: &str, value: &Value, findings: &mut Findings) -> Failsafe {
    let services = value["services"].as_object().into_iter().flatten();
    let services: BTreeMap<Service, ServiceChange> = services
        .filter_map(|(name, change)| {
            service(&field_path(&format!("{path}.services"), name), name, change, findings)
        })
        .collect();
    let extra = elements(&value["extra"])
        .filter(|(_, entry)| !entry.is_null())
        .map(|(index, entry)| extra(&format!("{path}.extra[{index}]"), entry, findings))
        .collect();
    Failsafe { services, extra }
}

/// A service without `sources` that is not disabled is as it was.
fn service(
    path: &str,
    name: &str,
    change: &Value,
    findings: &mut Findings,
) -> Option<(Service, ServiceChange)> {
    let sources_path = format!("{path}.sources");
    let sources = each_text(&change["sources"], &sources_path, findings, addresses::check);
    let Some(service) = Service::ALL.iter().copied().find(|service| service.name() == name) else {
        findings.push(unknown(path, name));
        return None;
    };
    let (is_narrowed, is_disabled) = (!change["sources"].is_null(), change["disabled"] == true);
    if is_narrowed && matches!(service, Service::Arp | Service::LinkControl) {
        let message = format!("frames of {name} have no source address");
        let fix = "Remove sources; disabled: true switches the service off";
        findings.push(Finding::new(sources_path, Reason::WrongSettings, message, fix));
    }
    if is_narrowed && is_disabled {
        let message = "a service is either narrowed by sources or disabled";
        let fix = "Remove one of them";
        findings.push(Finding::new(format!("{path}.disabled"), Reason::MutuallyExclusive, message, fix));
    }
    let change = if is_disabled { ServiceChange::Disabled } else { ServiceChange::Sources(sources) };
    (is_narrowed || is_disabled).then_some((service, change))
}

fn unknown(path: &str, name: &str) -> Finding {
    let names: Vec<&str> = Service::ALL.iter().map(|service| service.name()).collect();
    let message = format!("there is no built-in service {}", quote(name));
    Finding::new(path, Reason::UnknownService, message, suggest_value(name, &names))
}

/// Traffic of one protocol, which the schema asks for.
fn extra(path: &str, entry: &Value, findings: &mut Findings) -> Fields {
    let stated = Some(&entry["protocol"]).filter(|value| !value.is_null());
    let protocol =
        stated.and_then(|value| findings.keep(protocol::check(&format!("{path}.protocol"), value)));
    let fields = Fields {
        protocol,
        destination_ports: each(&entry["ports"], &format!("{path}.ports"), findings, ports::check),
        sources: each_text(&entry["sources"], &format!("{path}.sources"), findings, addresses::check),
        ..Fields::default()
    };
    let known = protocol.map_or(Protocol::Refused, Protocol::Is);
    contradictions::check(path, entry, &fields, known, findings);
    fields
}
