//! The definition is one that an API server takes and that keeps its promises.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use sluice_api::custom_resource_definitions;

fn spec() -> Value {
    let definition = serde_json::to_value(&custom_resource_definitions()[0]).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
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

#[test]
fn it_is_cluster_scoped_with_a_status_subresource() {
    let definition = serde_json::to_value(&custom_resource_definitions()[0]).unwrap();
    assert_eq!(definition["metadata"]["name"], "xdppolicies.sluice.dev");
    assert_eq!(definition["spec"]["scope"], "Cluster");
    assert_eq!(definition["spec"]["versions"][0]["subresources"], json!({"status": {}}));
}

#[test]
fn every_field_is_described_and_structural() {
    walk("spec", &spec(), &mut |path, schema| {
        assert!(schema["description"].is_string() || path.ends_with("[]"), "{path} has no description");
        let is_typed = schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true;
        assert!(is_typed, "{path} has no type");
        for keyword in ["anyOf", "oneOf", "allOf", "not", "$ref"] {
            assert!(schema[keyword].is_null(), "{path} uses {keyword}");
        }
    });
}

#[test]
fn unknown_fields_are_kept_below_rules_and_only_there() {
    walk("spec", &spec(), &mut |path, schema| {
        let keeps = schema["x-kubernetes-preserve-unknown-fields"] == true;
        let should_keep = path.starts_with("spec.rules[]") && schema["properties"].is_object();
        assert_eq!(keeps, should_keep, "{path}");
    });
}

#[test]
fn what_has_a_default_says_so() {
    let spec = spec();
    let default = |field: &str| spec["properties"][field]["default"].clone();
    assert_eq!(default("mode"), "Auto");
    assert_eq!(default("enforcement"), "Enforce");
    assert_eq!(default("foreignPrograms"), "Refuse");
    assert_eq!(default("priority"), 100);
    assert_eq!(default("defaultAction"), Value::Null);
}
