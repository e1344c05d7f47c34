//! What the operator reports about a policy: counts and conditions, never a list that grows with the
//! number of nodes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of the policy.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct XdpPolicyStatus {
    /// The `metadata.generation` that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `Accepted`: the policy is valid. `Programmed`: it is in force wherever it should be.
    /// `Degraded`: it is in force with a limitation that the message names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,

    /// Nodes, counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeCounts>,
}

/// Nodes by what became of the policy there.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// Nodes that the policy selects.
    #[serde(default)]
    pub desired: i32,
    /// Nodes where it is in force on every interface that it selects.
    #[serde(default)]
    pub programmed: i32,
    /// Nodes where at least one interface is in generic mode.
    #[serde(default)]
    pub generic: i32,
    /// Nodes where at least one interface could not be programmed.
    #[serde(default)]
    pub failed: i32,
    /// Nodes where it only counts.
    #[serde(default)]
    pub dry_run: i32,
}
