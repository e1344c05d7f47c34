//! A policy that has been checked: whoever holds one need not check again.

use serde_json::Value;
use sluice_api::{DefaultAction, Enforcement, Mode};

use crate::{Action, Failsafe, Matcher, NamePattern};

/// A checked policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// `metadata.name`.
    pub name: String,
    /// The file that it came from.
    pub file: String,
    /// The whole document, without status. [`crate::parse_document`] reads it back.
    pub document: Value,
    /// Order between policies: lower first, ties by name.
    pub priority: i32,
    /// How it wants to be attached.
    pub mode: Mode,
    /// Whether its verdicts are carried out.
    pub enforcement: Enforcement,
    /// What happens to packets that no rule of it matched; absent: the next policy decides.
    pub default_action: Option<DefaultAction>,
    /// Changes to the built-in failsafe.
    pub failsafe: Failsafe,
    /// Interfaces: any entry selects.
    pub interfaces: Vec<InterfaceSelector>,
    /// Rules in order.
    pub rules: Vec<Rule>,
}

/// One entry of `interfaces`: every list that is not empty must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceSelector {
    /// Names and patterns.
    pub names: Vec<NamePattern>,
    /// Drivers.
    pub drivers: Vec<String>,
    /// PCI addresses, in lower case.
    pub pci_addresses: Vec<String>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name, unique in the policy.
    pub name: String,
    /// What it matches.
    pub matcher: Matcher,
    /// What it does.
    pub action: Action,
}
