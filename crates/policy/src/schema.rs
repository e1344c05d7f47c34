//! Holds a document to the schema that the CRD is generated from, and collects everything that does
//! not fit. It knows no meaning: what the schema cannot say is checked elsewhere.
//!
//! Unlike an API server it refuses unknown fields at every level, by name. What does not fit is
//! taken out (elements of lists become null), so that the checks of meaning see only sound values.

mod suggest;
mod words;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

pub(crate) use suggest::value as suggest_value;

use crate::problem::{Finding, Findings, Reason, quote};

static POLICY: LazyLock<Value> = LazyLock::new(|| document("XdpPolicy"));
static CIDR_SET: LazyLock<Value> = LazyLock::new(|| document("XdpCidrSet"));

/// The schema of a whole document. If it could not be made, its spec is null, and allows nothing.
fn document(kind: &str) -> Value {
    let definitions = serde_json::to_value(sluice_api::custom_resource_definitions()).unwrap_or_default();
    let mut of_kind = definitions.as_array().into_iter().flatten();
    let definition = of_kind.find(|definition| definition["spec"]["names"]["kind"] == kind);
    let definition = definition.unwrap_or(&Value::Null);
    let spec = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let open = json!({"type": "object", "additionalProperties": true});
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": text,
            "kind": text,
            "metadata": {
                "type": "object",
                "additionalProperties": true,
                "required": ["name"],
                "properties": {"name": text},
            },
            "spec": spec,
            "status": open,
        },
    })
}

/// Checks a policy. What remains of `document` fits the schema, but for what is missing.
pub(crate) fn check(document: &mut Value, findings: &mut Findings) {
    check_against(&POLICY, document, findings);
}

/// Checks an address set, as [`check`] a policy.
pub(crate) fn check_cidr_set(document: &mut Value, findings: &mut Findings) {
    check_against(&CIDR_SET, document, findings);
}

fn check_against(schema: &Value, document: &mut Value, findings: &mut Findings) {
    let mut walk = Walk { findings };
    walk.value(document, &At { schema, parent: &Value::Null, path: String::new() });
}

/// A place in the document.
struct At<'a> {
    schema: &'a Value,
    /// Schema of the object around it, for hints.
    parent: &'a Value,
    path: String,
}

struct Walk<'a> {
    findings: &'a mut Findings,
}

impl Walk<'_> {
    fn report(&mut self, path: &str, reason: Reason, message: String, fix: String) {
        self.findings.push(Finding::new(path, reason, message, fix));
    }

    /// Returns whether the value may stay.
    fn value(&mut self, value: &mut Value, at: &At<'_>) -> bool {
        if !words::is_of_type(value, at.schema) {
            let (expected, found) = (words::expected(at.schema), words::found(value));
            let fix = words::type_fix(at.schema, value);
            self.report(&at.path, Reason::WrongType, format!("expected {expected}, found {found}"), fix);
            return false;
        }
        match value {
            Value::Object(fields) => self.object(fields, at),
            Value::Array(elements) => return self.array(elements, at),
            Value::Number(number) => return self.number(number, at),
            Value::String(text) => return self.text(text, at),
            Value::Null | Value::Bool(_) => {}
        }
        true
    }

    fn object(&mut self, fields: &mut Map<String, Value>, at: &At<'_>) {
        let properties = at.schema["properties"].as_object();
        let additional = &at.schema["additionalProperties"];
        if properties.is_none() && !additional.is_object() {
            return;
        }
        fields.retain(|key, value| {
            let path = field_path(&at.path, key);
            if let Some(schema) = properties.and_then(|properties| properties.get(key)) {
                // As for an API server, an explicit null is an absent field.
                return !value.is_null() && self.value(value, &At { schema, parent: at.schema, path });
            }
            if additional.is_object() {
                return self.value(value, &At { schema: additional, parent: at.schema, path });
            }
            if additional == &Value::Bool(true) {
                return true;
            }
            let fix = suggest::field(key, at.schema, at.parent);
            self.report(&path, Reason::UnknownField, format!("there is no field {}", quote(key)), fix);
            false
        });
        self.required(fields, at);
    }

    fn required(&mut self, fields: &Map<String, Value>, at: &At<'_>) {
        let names = at.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for name in names.filter(|name| !fields.contains_key(*name)) {
            let path = field_path(&at.path, name);
            // A value that was there but did not fit has been reported already.
            if self.findings.iter().all(|finding| finding.field != path) {
                let fix = words::missing_fix(name, &at.schema["properties"][name]);
                self.report(&path, Reason::MissingField, "it is missing".to_owned(), fix);
            }
        }
    }

    /// A list that is too long is not looked into.
    fn array(&mut self, elements: &mut [Value], at: &At<'_>) -> bool {
        let limit = |keyword: &str| at.schema[keyword].as_u64().and_then(|limit| usize::try_from(limit).ok());
        if let Some(most) = limit("maxItems").filter(|most| elements.len() > *most) {
            let message = format!("the list has {} elements, and at most {most} are allowed", elements.len());
            self.report(&at.path, Reason::ListTooLong, message, "Split it".to_owned());
            return false;
        }
        if limit("minItems").is_some_and(|least| elements.len() < least) {
            let fix = "Write at least one element, or leave the field out if it is optional".to_owned();
            self.report(&at.path, Reason::EmptyList, "an empty list is not 'any'".to_owned(), fix);
        }
        for (index, element) in elements.iter_mut().enumerate() {
            let path = format!("{}[{index}]", at.path);
            let at = At { schema: &at.schema["items"], parent: at.parent, path };
            if !self.value(element, &at) {
                *element = Value::Null;
            }
        }
        true
    }

    fn number(&mut self, number: &serde_json::Number, at: &At<'_>) -> bool {
        let Some(value) = number.as_f64() else { return true };
        let (least, most) = words::number_bounds(at.schema);
        // Integers of the API have 64 bits with a sign.
        let fits = number.as_u64().is_none_or(|number| i64::try_from(number).is_ok());
        if fits && least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most) {
            return true;
        }
        let range = words::number_range(least, most);
        self.report(
            &at.path,
            Reason::InvalidValue,
            format!("{number} is out of range"),
            format!("Write a number {range}"),
        );
        false
    }

    fn text(&mut self, text: &str, at: &At<'_>) -> bool {
        let allowed: Vec<&str> =
            at.schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if allowed.is_empty() || allowed.contains(&text) {
            return true;
        }
        let message = format!("{} is none of {}", quote(text), allowed.join(", "));
        self.report(&at.path, Reason::InvalidValue, message, suggest::value(text, &allowed));
        false
    }
}

/// The path of a field. Keys that would not read as one are quoted.
pub(crate) fn field_path(path: &str, key: &str) -> String {
    let plain = !key.is_empty()
        && key.len() <= 64
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    match (plain, path) {
        (true, "") => key.to_owned(),
        (true, _) => format!("{path}.{key}"),
        (false, _) => format!("{path}[{}]", quote(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_schemas_hold_the_specs_of_the_definitions() {
        assert_eq!(POLICY["properties"]["spec"]["properties"]["rules"]["type"], "array");
        assert_eq!(CIDR_SET["properties"]["spec"]["properties"]["cidrs"]["type"], "array");
    }
}
