//! `XdpCidrSet`: a list of addresses that rules name. It is live data, never part of a revision.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most entries of one object: what the API server's limit on the size of an object leaves room for.
pub const MAX_CIDRS: usize = 50_000;

/// The addresses.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "sluice.dev",
    version = "v1alpha1",
    kind = "XdpCidrSet",
    plural = "xdpcidrsets",
    shortname = "xdpcs",
    category = "sluice",
    derive = "PartialEq",
    status = "XdpCidrSetStatus",
    doc = "XdpCidrSet is a list of addresses that the rules of policies name, by the set's name or by its \
           labels. A list that is too large for one object is several objects under one label.",
    printcolumn(name = "Entries", type_ = "integer", json_path = ".status.entries"),
    printcolumn(name = "Rejected", type_ = "integer", json_path = ".status.rejected"),
    printcolumn(name = "Duplicates", type_ = "integer", json_path = ".status.duplicates", priority = 1),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Accepted')].status"
    ),
    printcolumn(
        name = "Degraded",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Degraded')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct XdpCidrSetSpec {
    /// CIDR prefixes without host bits, and addresses, of either IP version, in any order. An empty list
    /// matches nothing. Duplicates and overlaps are no mistake.
    #[schemars(length(max = MAX_CIDRS), extend("x-kubernetes-list-type" = "atomic"))]
    pub cidrs: Vec<String>,

    /// Refuse the whole object if any entry is bad. Otherwise a bad entry is left out and counted, and
    /// the rest is loaded.
    #[serde(default)]
    pub strict: bool,
}

/// What became of the set.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct XdpCidrSetStatus {
    /// The `metadata.generation` that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// `Accepted`: the set can be used. `Degraded`: it is in use, but not all of it, as the message says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,

    /// Distinct prefixes that are loaded.
    #[serde(default)]
    pub entries: i32,

    /// Entries that were left out because they are bad.
    #[serde(default)]
    pub rejected: i32,

    /// Entries that repeat another one.
    #[serde(default)]
    pub duplicates: i32,
}
