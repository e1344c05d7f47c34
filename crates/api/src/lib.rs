//! The resource types of the group `sluice.dev`, from which the CRDs are generated. It holds types
//! and names only: no client, no validation beyond the schema, no decision.
#![forbid(unsafe_code)]
// Each printer column is an attribute with the same keys.
#![allow(clippy::duplicated_attributes)]

mod cidr_set;
mod policy;

use kube::core::CustomResourceExt as _;

pub use cidr_set::*;
pub use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
pub use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
pub use policy::*;

/// The API group of every kind.
pub const GROUP: &str = "sluice.dev";
/// The version of every kind.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of every object.
pub const API_VERSION: &str = "sluice.dev/v1alpha1";

/// The definitions of all kinds, in the order in which they are to be installed.
#[must_use]
pub fn custom_resource_definitions() -> Vec<CustomResourceDefinition> {
    vec![XdpPolicy::crd(), XdpCidrSet::crd()]
}
