//! Types and limits of the schema in words.

use serde_json::Value;

fn is_int_or_string(schema: &Value) -> bool {
    schema["x-kubernetes-int-or-string"] == true
}

pub(super) fn is_of_type(value: &Value, schema: &Value) -> bool {
    let is_integer = value.is_i64() || value.is_u64();
    if is_int_or_string(schema) {
        return is_integer || value.is_string();
    }
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => is_integer,
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        _ => false,
    }
}

pub(super) fn expected(schema: &Value) -> &'static str {
    if is_int_or_string(schema) {
        return "a whole number or a text";
    }
    match schema["type"].as_str() {
        Some("object") => "a mapping",
        Some("array") => "a list",
        Some("string") => "a text",
        Some("integer") => "a whole number",
        Some("boolean") => "true or false",
        _ => "something else",
    }
}

pub(super) fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing (null)",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a number with a fraction or exponent",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

pub(super) fn type_fix(schema: &Value, value: &Value) -> String {
    match (schema["type"].as_str(), value) {
        (Some("array"), Value::String(_) | Value::Number(_)) => "Put it in square brackets".to_owned(),
        (Some("string"), Value::Number(_) | Value::Bool(_)) => "Put it in quotes".to_owned(),
        (Some("integer"), Value::String(_)) => "Write the number without quotes".to_owned(),
        _ => format!("Write {}", expected(schema)),
    }
}

pub(super) fn missing_fix(name: &str, schema: &Value) -> String {
    match (name, schema["enum"].as_array()) {
        ("apiVersion", _) => format!("Add apiVersion: {}", sluice_api::API_VERSION),
        ("kind", _) => "Add kind: XdpPolicy".to_owned(),
        (_, Some(values)) => {
            let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            format!("Add {name}: one of {}", values.join(", "))
        }
        _ => format!("Add {name}, {}", expected(schema)),
    }
}

/// Limits that the schema names, and those of the format.
pub(super) fn number_bounds(schema: &Value) -> (Option<f64>, Option<f64>) {
    let is_int32 = schema["format"] == "int32";
    let bound =
        |keyword: &str, of_format: i32| schema[keyword].as_f64().or(is_int32.then_some(f64::from(of_format)));
    (bound("minimum", i32::MIN), bound("maximum", i32::MAX))
}

pub(super) fn number_range(least: Option<f64>, most: Option<f64>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("from {least} to {most}"),
        (Some(least), None) => format!("{least} or more"),
        (None, Some(most)) => format!("{most} or less"),
        (None, None) => "allowed".to_owned(),
    }
}
