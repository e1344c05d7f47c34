//! The rules of a policy.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_ebpf_common::{MAX_RULES, PORT_CLASSES};

use super::{names, ports, protocol};
use crate::problem::{Finding, Findings, Reason, quote};
use crate::tables::PortClasses;
use crate::{Action, Fields, Matcher, PortRange, Rule};

/// Reads `spec.rules`. A rule with a problem is left out of the result.
pub(super) fn check(list: &Value, findings: &mut Findings) -> Vec<Rule> {
    let elements: Vec<&Value> = list.as_array().into_iter().flatten().collect();
    if elements.len() > MAX_RULES {
        let message =
            format!("the policy has {} rules, and an interface carries at most {MAX_RULES}", elements.len());
        let fix = "Join rules that differ only in their ports";
        findings.push(Finding::new("spec.rules", Reason::TooManyRules, message, fix));
    }
    refuse_double_names(&elements, findings);
    let indexed = elements.iter().enumerate();
    let rules: Vec<Rule> =
        indexed.filter_map(|(index, value)| rule(&format!("spec.rules[{index}]"), value, findings)).collect();
    refuse_too_many_classes(&rules, findings);
    rules
}

fn refuse_double_names(elements: &[&Value], findings: &mut Findings) {
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, name) in
        elements.iter().enumerate().filter_map(|(index, rule)| Some((index, rule["name"].as_str()?)))
    {
        let first = *first_of.entry(name).or_insert(index);
        if first != index {
            let message = format!("{} is also the name of spec.rules[{first}]", quote(name));
            let fix = "Give each rule a name of its own";
            findings.push(Finding::new(
                format!("spec.rules[{index}].name"),
                Reason::DuplicateName,
                message,
                fix,
            ));
        }
    }
}

fn refuse_too_many_classes(rules: &[Rule], findings: &mut Findings) {
    if rules.len() > MAX_RULES {
        return;
    }
    let matchers: Vec<&Matcher> = rules.iter().map(|rule| &rule.matcher).collect();
    let classes = PortClasses::of(&matchers).vectors.len();
    if classes > PORT_CLASSES {
        let message = format!(
            "the port ranges of the rules overlap in {classes} different ways, and an interface carries {PORT_CLASSES}"
        );
        let fix = "Use fewer ranges, or give rules the same ranges";
        findings.push(Finding::new("spec.rules", Reason::TooManyPortClasses, message, fix));
    }
}

fn rule(path: &str, value: &Value, findings: &mut Findings) -> Option<Rule> {
    if let Some(name) = value["name"].as_str() {
        names::check_rule(&format!("{path}.name"), name, findings);
    }
    let matcher = matcher(&format!("{path}.match"), &value["match"], findings);
    let action_type = value["action"]["type"].as_str();
    refuse_match_all(path, value, action_type, findings);
    let action = match action_type? {
        "Drop" => Action::Drop,
        "Pass" => Action::Pass,
        "Count" => Action::Count,
        _ => return None,
    };
    Some(Rule { name: value["name"].as_str()?.to_owned(), matcher, action })
}

/// A rule that drops must say what. If its match was refused before, that has been said.
fn refuse_match_all(path: &str, rule: &Value, action_type: Option<&str>, findings: &mut Findings) {
    let path = format!("{path}.match");
    let Some(drops @ ("Drop" | "RateLimit")) = action_type else {
        return;
    };
    let has_fields = rule["match"].as_object().is_some_and(|fields| !fields.is_empty());
    if has_fields || is_touched(findings, &path) {
        return;
    }
    let message = format!("a {drops} rule without a match would take every packet");
    let fix = "Say what it matches; defaultAction is for what no rule matches";
    findings.push(Finding::new(path, Reason::MatchRequired, message, fix));
}

fn matcher(path: &str, value: &Value, findings: &mut Findings) -> Matcher {
    // What was misspelt may be the protocol or the ports: no conclusion from their absence.
    let was_touched = is_touched(findings, path);
    let protocol_path = format!("{path}.protocol");
    let protocol =
        (!value["protocol"].is_null()).then(|| protocol::check(&protocol_path, &value["protocol"]));
    let ports_path = format!("{path}.destinationPorts");
    let destination_ports = destination_ports(&ports_path, &value["destinationPorts"], findings);
    if !value["destinationPorts"].is_null() {
        match &protocol {
            None if !was_touched => findings.push(Finding::new(
                protocol_path,
                Reason::PortsNeedProtocol,
                "destinationPorts need a protocol that has ports",
                "Add protocol: TCP, UDP or SCTP",
            )),
            Some(Ok(number)) if !protocol::has_ports(*number) => findings.push(Finding::new(
                ports_path,
                Reason::PortsNeedProtocol,
                format!("{} has no ports", protocol::protocol_name(*number)),
                "Remove the ports, or use protocol TCP, UDP or SCTP",
            )),
            _ => {}
        }
    }
    let protocol = protocol.and_then(|result| result.map_err(|finding| findings.push(finding)).ok());
    Matcher { fields: Fields { protocol, destination_ports, ..Fields::default() }, not: None }
}

fn destination_ports(path: &str, list: &Value, findings: &mut Findings) -> Vec<PortRange> {
    let mut ranges = Vec::new();
    for (index, element) in list.as_array().into_iter().flatten().enumerate() {
        match ports::check(&format!("{path}[{index}]"), element) {
            Ok(range) => ranges.extend(range),
            Err(finding) => findings.push(finding),
        }
    }
    ranges
}

/// Whether something below `path` was taken out, so that what is left says less than the user did.
fn is_touched(findings: &Findings, path: &str) -> bool {
    let is_loss = |finding: &Finding| finding.reason != Reason::NotImplemented;
    findings.iter().any(|finding| finding.field.starts_with(path) && is_loss(finding))
}
