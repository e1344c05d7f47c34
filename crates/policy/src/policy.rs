//! A policy that has been checked: whoever holds one need not check again.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use sluice_api::Mode;

use crate::NamePattern;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, unique in the policy.
    pub name: String,
    /// What it matches.
    pub matcher: Matcher,
    /// What it does.
    pub action: Action,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Action {
    /// Drop the packet.
    Drop,
    /// Pass the packet to the network stack.
    Pass,
    /// Count and go on.
    Count,
}

impl Action {
    /// The name as it is written in a policy.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Drop => "Drop",
            Self::Pass => "Pass",
            Self::Count => "Count",
        }
    }

    /// Whether the first rule with this action that matches decides about the packet.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Drop | Self::Pass)
    }
}

/// What a rule matches: all that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Matcher {
    /// IP protocol number; absent: any, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u8>,
    /// Destination ports, any of them; empty: any, or none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destination_ports: Vec<PortRange>,
}

/// Ports from first to last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRange {
    /// First port.
    pub first: u16,
    /// Last port; not below `first`.
    pub last: u16,
}

impl PortRange {
    /// Whether `port` is in the range.
    #[must_use]
    pub const fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(formatter, "{}", self.first)
        } else {
            write!(formatter, "{}-{}", self.first, self.last)
        }
    }
}

impl Serialize for PortRange {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
