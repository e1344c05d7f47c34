//! The definition is one that an API server takes and that keeps its promises.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use sluice_api::custom_resource_definitions;

fn definition(kind: &str) -> Value {
    let definitions = serde_json::to_value(custom_resource_definitions()).unwrap();
    let found = definitions.as_array().unwrap().iter().find(|each| each["spec"]["names"]["kind"] == kind);
    found.unwrap().clone()
}

fn spec(kind: &str) -> Value {
    definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
}

/// Calls `visit` with every schema below, and its path.
fn walk(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), property, visit);
    }
    for below in ["items", "additionalProperties"] {
        if schema[below].is_object() {
            walk(&format!("{path}[]"), &schema[below], visit);
        }
    }
}

const KINDS: [(&str, &str); 2] =
    [("XdpPolicy", "xdppolicies.sluice.dev"), ("XdpCidrSet", "xdpcidrsets.sluice.dev")];

#[test]
fn each_kind_is_cluster_scoped_with_a_status_subresource() {
    for (kind, name) in KINDS {
        let definition = definition(kind);
        assert_eq!(definition["metadata"]["name"], name);
        assert_eq!(definition["spec"]["scope"], "Cluster");
        assert_eq!(definition["spec"]["versions"][0]["subresources"], json!({"status": {}}));
    }
    assert_eq!(custom_resource_definitions().len(), KINDS.len());
}

#[test]
fn every_field_is_described_and_structural() {
    for (kind, _) in KINDS {
        walk("spec", &spec(kind), &mut described_and_structural);
    }
}

fn described_and_structural(path: &str, schema: &Value) {
    assert!(schema["description"].is_string() || path.ends_with("[]"), "{path} has no description");
    let is_typed = schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true;
    assert!(is_typed, "{path} has no type");
    for keyword in ["anyOf", "oneOf", "allOf", "not", "$ref"] {
        assert!(schema[keyword].is_null(), "{path} uses {keyword}");
    }
}

#[test]
fn unknown_fields_are_kept_below_rules_and_only_there() {
    walk("spec", &spec("XdpPolicy"), &mut |path, schema| {
        let keeps = schema["x-kubernetes-preserve-unknown-fields"] == true;
        let should_keep = path.starts_with("spec.rules[]") && schema["properties"].is_object();
        assert_eq!(keeps, should_keep, "{path}");
    });
}

#[test]
fn what_has_a_default_says_so() {
    let spec = spec("XdpPolicy");
    let default = |field: &str| spec["properties"][field]["default"].clone();
    assert_eq!(default("mode"), "Auto");
    assert_eq!(default("enforcement"), "Enforce");
    assert_eq!(default("foreignPrograms"), "Refuse");
    assert_eq!(default("priority"), 100);
    assert_eq!(default("defaultAction"), Value::Null);
}

/// An object of 50000 entries must not also carry a record of who wrote which of them.
#[test]
fn cidr_11_the_entries_of_a_set_are_one_atomic_list_of_bounded_length_that_may_be_empty() {
    let spec = spec("XdpCidrSet");
    let cidrs = &spec["properties"]["cidrs"];
    assert_eq!(cidrs["x-kubernetes-list-type"], "atomic");
    assert_eq!((&cidrs["maxItems"], &cidrs["minItems"]), (&json!(50_000), &Value::Null));
    assert_eq!(spec["required"], json!(["cidrs"]));
    assert_eq!(spec["properties"]["strict"]["default"], false);
}
