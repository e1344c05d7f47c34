//! The action of a rule: its type, and the settings of that type.

use serde_json::Value;

use super::{cpus, marks, names, rate};
use crate::problem::{Finding, Findings, Reason};
use crate::{Action, Steer};

/// Each type with settings: its name, the field of the settings, and how they look.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("RateLimit", "rateLimit", "{packetsPerSecond: 1000}"),
    ("Mark", "mark", "{mark: 1}"),
    ("Steer", "steer", "{cpus: \"2-5\"}"),
    ("Socket", "socket", "{pool: NAME}"),
];

/// Reads the action at `path`. Absent: something about it was refused.
pub(super) fn check(path: &str, value: &Value, findings: &mut Findings) -> Option<Action> {
    let action_type = value["type"].as_str()?;
    refuse_other_settings(path, value, action_type, findings);
    let mut settings = || settings(path, value, action_type, findings);
    match action_type {
        "Drop" => Some(Action::Drop),
        "Pass" => Some(Action::Pass),
        "Count" => Some(Action::Count),
        "RateLimit" => {
            settings().and_then(|(path, value)| rate::check(&path, value, findings)).map(Action::RateLimit)
        }
        "Mark" => settings().and_then(|(path, value)| marks::check(&path, value, findings)).map(Action::Mark),
        "Steer" => settings().and_then(|(path, value)| steer(&path, value, findings)).map(Action::Steer),
        "Socket" => settings().and_then(|(path, value)| pool(&path, value, findings)).map(Action::Socket),
        _ => None,
    }
}

/// Settings that nobody reads would make their author believe in them.
fn refuse_other_settings(path: &str, value: &Value, action_type: &str, findings: &mut Findings) {
    for (of_type, field, _) in
        SETTINGS.iter().filter(|(of_type, field, _)| *of_type != action_type && !value[*field].is_null())
    {
        let message = format!("{field} is for type {of_type}, and the type is {action_type}");
        let fix = format!("Remove {field}, or write type: {of_type}");
        findings.push(Finding::new(format!("{path}.{field}"), Reason::WrongSettings, message, fix));
    }
}

/// The settings of the type, with their path.
fn settings<'a>(
    path: &str,
    value: &'a Value,
    action_type: &str,
    findings: &mut Findings,
) -> Option<(String, &'a Value)> {
    let (_, field, example) = SETTINGS.iter().find(|(of_type, ..)| *of_type == action_type)?;
    let path = format!("{path}.{field}");
    let settings = &value[*field];
    if !settings.is_null() {
        return Some((path, settings));
    }
    if !findings.is_touched(&path) {
        let message = format!("type {action_type} needs {field}");
        findings.push(Finding::new(path, Reason::MissingField, message, format!("Add {field}: {example}")));
    }
    None
}

fn steer(path: &str, value: &Value, findings: &mut Findings) -> Option<Steer> {
    /// What the schema gives who names none.
    const QUEUE_SIZE: u32 = 2048;
    let cpus = value["cpus"].as_str()?;
    let cpus = findings.keep(cpus::check(&format!("{path}.cpus"), cpus))?;
    let queue_size = value["queueSize"].as_u64().and_then(|size| u32::try_from(size).ok());
    let algorithm = super::word(&value["algorithm"]).unwrap_or_default();
    Some(Steer { cpus, algorithm, queue_size: queue_size.unwrap_or(QUEUE_SIZE) })
}

fn pool(path: &str, value: &Value, findings: &mut Findings) -> Option<String> {
    let pool = value["pool"].as_str()?;
    findings.keep(names::object(&format!("{path}.pool"), pool))
}
