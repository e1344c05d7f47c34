//! Kubernetes label selectors. An operator that does not exist selects nothing: a selector never selects
//! more than it says.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Whether every requirement holds. A selector without any selects everything.
pub(super) fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let mut wanted = selector.match_labels.iter().flatten();
    let mut requirements = selector.match_expressions.iter().flatten();
    wanted.all(|(key, value)| labels.get(key) == Some(value))
        && requirements.all(|requirement| holds(requirement, labels))
}

/// `NotIn` holds for labels that are not there, as in Kubernetes.
fn holds(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let is_listed = value.is_some_and(|value| requirement.values.iter().flatten().any(|one| one == value));
    match requirement.operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::empty_selects_everything(json!({}), true)]
    #[case::label(json!({"matchLabels": {"list": "big"}}), true)]
    #[case::other_value(json!({"matchLabels": {"list": "small"}}), false)]
    #[case::both_labels(json!({"matchLabels": {"list": "big", "team": "net"}}), false)]
    #[case::in_list(json!({"matchExpressions": [{"key": "list", "operator": "In", "values": ["a", "big"]}]}), true)]
    #[case::absent_is_not_in(json!({"matchExpressions": [{"key": "team", "operator": "In", "values": ["net"]}]}), false)]
    #[case::not_in_list(json!({"matchExpressions": [{"key": "list", "operator": "NotIn", "values": ["big"]}]}), false)]
    #[case::absent_for_not_in(json!({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["net"]}]}), true)]
    #[case::exists(json!({"matchExpressions": [{"key": "list", "operator": "Exists"}]}), true)]
    #[case::does_not_exist(json!({"matchExpressions": [{"key": "list", "operator": "DoesNotExist"}]}), false)]
    #[case::unknown_operator(json!({"matchExpressions": [{"key": "list", "operator": "Like"}]}), false)]
    #[case::all_must_hold(
        json!({"matchLabels": {"list": "big"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]}),
        false
    )]
    fn selectors(#[case] selector: Value, #[case] selected: bool) {
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        let labels = BTreeMap::from([("list".to_owned(), "big".to_owned())]);
        assert_eq!(selects(&selector, &labels), selected);
    }
}
