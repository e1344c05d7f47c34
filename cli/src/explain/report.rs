//! What `explain` found, as a value. Its JSON is `explain -o json`: camelCase, and stable.

use std::collections::BTreeMap;

use serde::Serialize;
use sluice_policy::failsafe::ServiceChange;
use sluice_policy::{
    Action, DefaultAction, Enforcement, Failsafe, Fields, Matcher, Mode, NodePlan, Policy, PolicyReport,
    Problem, Warning,
};

use super::words;

/// Everything that `explain` says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Good policies, in the order of evaluation.
    pub policies: Vec<ExplainedPolicy>,
    /// For the node that `--links` describes; absent without.
    pub plan: Option<NodePlan>,
    /// Everything that is wrong.
    pub problems: Vec<Finding>,
}

/// A good policy.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedPolicy {
    pub name: String,
    pub file: String,
    pub priority: i32,
    pub mode: Mode,
    pub enforcement: Enforcement,
    pub interfaces: Vec<ExplainedSelector>,
    /// What it changes of the built-in failsafe; absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failsafe: Option<ExplainedFailsafe>,
    pub rules: Vec<ExplainedRule>,
    /// What happens to packets that no rule matched; absent: the next policy decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_action: Option<DefaultAction>,
    pub warnings: Vec<Warning>,
    /// Why an agent of this release refuses it; empty: it does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_carried_out: Vec<Finding>,
}

/// Changes of the failsafe.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedFailsafe {
    /// By service.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<&'static str, ExplainedChange>,
    /// Further traffic that passes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<Fields>,
    /// The same in words.
    #[serde(skip)]
    pub words: Vec<String>,
}

/// A change of one service.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ExplainedChange {
    /// It passes from these sources only.
    Sources(Vec<String>),
    /// It is off, if true.
    Disabled(bool),
}

/// An entry of `interfaces`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedSelector {
    pub names: Vec<String>,
    pub drivers: Vec<String>,
    pub pci_addresses: Vec<String>,
}

/// A rule.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRule {
    pub name: String,
    pub action: Action,
    #[serde(rename = "match")]
    pub matcher: Matcher,
}

/// Something that is wrong: with a file, or with a document in it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub file: String,
    pub policy: Option<String>,
    pub field: String,
    pub reason: &'static str,
    pub message: String,
    pub fix: String,
}

impl Report {
    /// Puts policies into the order of evaluation, each with its warnings.
    pub fn new(
        policies: Vec<Policy>,
        reports: &[PolicyReport],
        plan: Option<NodePlan>,
        problems: Vec<Finding>,
    ) -> Self {
        let mut policies: Vec<_> =
            policies.into_iter().map(|policy| ExplainedPolicy::new(policy, reports)).collect();
        policies.sort_by(|left, right| (left.priority, &left.name).cmp(&(right.priority, &right.name)));
        Self { policies, plan, problems }
    }
}

impl ExplainedPolicy {
    fn new(policy: Policy, reports: &[PolicyReport]) -> Self {
        let report = reports.iter().find(|report| report.name == policy.name);
        let not_carried_out = policy.not_carried_out().into_iter().map(Finding::from).collect();
        let interfaces = policy.interfaces.into_iter().map(|selector| ExplainedSelector {
            names: selector.names.iter().map(ToString::to_string).collect(),
            drivers: selector.drivers,
            pci_addresses: selector.pci_addresses,
        });
        let rules = policy.rules.into_iter().map(|rule| ExplainedRule {
            name: rule.name,
            action: rule.action,
            matcher: rule.matcher,
        });
        Self {
            name: policy.name,
            file: policy.file,
            priority: policy.priority,
            mode: policy.mode,
            enforcement: policy.enforcement,
            interfaces: interfaces.collect(),
            failsafe: ExplainedFailsafe::new(policy.failsafe),
            rules: rules.collect(),
            default_action: policy.default_action,
            warnings: report.map(|report| report.warnings.clone()).unwrap_or_default(),
            not_carried_out,
        }
    }
}

impl ExplainedFailsafe {
    fn new(failsafe: Failsafe) -> Option<Self> {
        let words = words::changes(&failsafe);
        let services = failsafe.services.into_iter().map(|(service, change)| {
            let change = match change {
                ServiceChange::Sources(sources) => {
                    ExplainedChange::Sources(sources.iter().map(ToString::to_string).collect())
                }
                ServiceChange::Disabled => ExplainedChange::Disabled(true),
            };
            (service.name(), change)
        });
        let explained = Self { services: services.collect(), extra: failsafe.extra, words };
        (!explained.words.is_empty()).then_some(explained)
    }
}

impl Finding {
    /// Something that is wrong with a file before it is read.
    pub fn of_file(file: &str, reason: &'static str, message: String, fix: &str) -> Self {
        Self { file: file.into(), policy: None, field: String::new(), reason, message, fix: fix.into() }
    }
}

impl From<Problem> for Finding {
    fn from(problem: Problem) -> Self {
        let Problem { file, policy, field, reason, message, fix } = problem;
        Self { file, policy, field, reason: reason.as_str(), message, fix }
    }
}
