//! What guards a node: the failsafe in the data path, and the way a change is rolled out.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes to the built-in failsafe.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failsafe {
    /// Built-in services by name, such as `SSH` or `Kubelet`, that are narrowed or switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub services: Option<BTreeMap<String, FailsafeService>>,

    /// Further traffic that always passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub extra: Option<Vec<FailsafeExtra>>,

    /// Seconds without contact to the API server after which the agent goes back to the last
    /// confirmed revision. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 30, max = 86400))]
    pub disconnect_seconds: Option<i32>,
}

/// A change to one built-in service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailsafeService {
    /// Sources, as CIDR prefixes, from which the service always passes. Absent: from everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub sources: Option<Vec<String>>,

    /// Switches the service's failsafe off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// Traffic that always passes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailsafeExtra {
    /// Protocol by name or number, as in a rule.
    pub protocol: IntOrString,

    /// Destination ports or inclusive ranges. Absent: every packet of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub ports: Option<Vec<IntOrString>>,

    /// Sources as CIDR prefixes. Absent: from everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub sources: Option<Vec<String>>,
}

/// How a change reaches the nodes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// Nodes that may be changing at the same time: a number or a percentage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,

    /// Nodes that change first, alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub canary: Option<i32>,

    /// Seconds in which a node must prove that it is still reachable, else it goes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub confirm_seconds: Option<i32>,

    /// Further connections that must still work after a change if they worked before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16))]
    pub probes: Option<Vec<Probe>>,
}

/// A connection that a node tries before and after a change.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// Name of the probe, as status shows it.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,

    /// A TCP connection that must be accepted.
    pub tcp_socket: TcpSocket,
}

/// The other end of a TCP connection.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TcpSocket {
    /// Name or address.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,

    /// Port, 1 to 65535.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}
