//! `XdpPolicy`: what traffic to drop, pass, limit, mark, steer or hand to sockets, on which interfaces.

mod action;
mod matching;
mod safety;
mod status;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use action::*;
pub use matching::*;
pub use safety::*;
pub use status::*;

/// What the policy asks of the nodes.
#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "sluice.dev",
    version = "v1alpha1",
    kind = "XdpPolicy",
    plural = "xdppolicies",
    shortname = "xdpp",
    category = "sluice",
    derive = "PartialEq",
    status = "XdpPolicyStatus",
    doc = "XdpPolicy says what traffic to drop, pass, limit, mark, steer or hand to sockets, before the \
           network stack sees it, and on which interfaces of which nodes.",
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority"),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Accepted')].status"
    ),
    printcolumn(
        name = "Programmed",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Programmed')].status"
    ),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".status.nodes.desired"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.nodes.programmed"),
    printcolumn(name = "Generic", type_ = "integer", json_path = ".status.nodes.generic", priority = 1),
    printcolumn(name = "Failed", type_ = "integer", json_path = ".status.nodes.failed", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct XdpPolicySpec {
    /// Nodes that the policy applies to, by their labels. Absent or empty: all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,

    /// Interfaces that the policy applies to. An interface is selected if it matches any entry.
    #[schemars(length(min = 1, max = 64))]
    pub interfaces: Vec<InterfaceSelector>,

    /// How the program is attached.
    #[serde(default)]
    pub mode: Mode,

    /// Whether the verdicts are carried out, or only counted.
    #[serde(default)]
    pub enforcement: Enforcement,

    /// Order between the policies of one interface: lower first, ties by name.
    #[serde(default = "default_priority")]
    pub priority: i32,

    /// Action for packets that no rule of this policy matched. Absent: go on to the next policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_action: Option<DefaultAction>,

    /// Changes to the built-in failsafe, which passes what a node must never lose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failsafe: Option<Failsafe>,

    /// What to do where somebody else's XDP program is attached already.
    #[serde(default)]
    pub foreign_programs: ForeignPrograms,

    /// Settings of a NIC that may be changed where they prevent native mode. They are recorded
    /// first, and restored when the policy goes. Absent: nothing is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8))]
    pub remedies: Option<Vec<Remedy>>,

    /// Rules in order. The first that matches with a terminal action (Drop, Pass, Steer, Socket, and
    /// `RateLimit` for what exceeds the limit) decides; Count and Mark go on to the next rule.
    #[schemars(length(min = 1, max = MAX_POLICY_RULES), transform = keep_unknown_fields)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub rules: Vec<Rule>,

    /// How a change reaches the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

/// Which interfaces: one must satisfy every key that is given, with any value of that key's list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InterfaceSelector {
    /// Names or alternative names. The pattern signs are `*`, `?` and `[0-9]`. A pattern selects only
    /// physical NICs and bonds; any other interface must be named exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub names: Option<Vec<String>>,

    /// Kernel drivers of physical NICs, such as `ixgbe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub drivers: Option<Vec<String>>,

    /// PCI addresses of physical NICs, such as `0000:3b:00.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub pci_addresses: Option<Vec<String>>,

    /// Selects the interface that carries the default route, physical or virtual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_route: Option<bool>,
}

/// How a program is attached.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum Mode {
    /// In the driver where it can, else generic, with the reason in status.
    #[default]
    Auto,
    /// In the driver, or not at all.
    Native,
    /// In the network stack, on any driver.
    Generic,
}

impl Mode {
    /// The name as it is written in a policy.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "Auto",
            Self::Native => "Native",
            Self::Generic => "Generic",
        }
    }
}

/// Whether verdicts are carried out.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Enforcement {
    /// Verdicts are carried out.
    #[default]
    Enforce,
    /// Verdicts are counted; the policy changes no packet.
    DryRun,
}

/// What to do where another program is attached.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ForeignPrograms {
    /// Leave the other program alone and do not attach.
    #[default]
    Refuse,
    /// Run beside the other program.
    Chain,
}

/// A setting that may be changed to make native mode possible.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Remedy {
    /// The number of channels (queues).
    Channels,
    /// Large receive offload.
    LargeReceiveOffload,
}

/// Most rules of one policy.
pub const MAX_POLICY_RULES: usize = 1024;

/// Priority of a policy that names none.
pub const DEFAULT_PRIORITY: i32 = 100;

const fn default_priority() -> i32 {
    DEFAULT_PRIORITY
}

/// The API server must keep unknown fields below `rules[]`, so that whoever compiles the policy can
/// refuse them: pruned in silence, a misspelt field would widen its rule. Pruning is decided level
/// by level, hence the mark on every object.
fn keep_unknown_fields(schema: &mut schemars::Schema) {
    if schema.get("properties").is_some() {
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
    }
    schemars::transform::transform_subschemas(&mut keep_unknown_fields, schema);
}
