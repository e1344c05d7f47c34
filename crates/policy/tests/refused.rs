//! Values that must be refused, by field and with a fix: `cases/refused.yaml` and `cases/settings.yaml`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::fmt::Write as _;

use common::{all_cases, cases, document_with, lines, parse};
use rstest::rstest;
use serde::Deserialize;
use serde_json::Value;
use sluice_policy::Problem;

#[derive(Deserialize)]
struct Case {
    at: String,
    field: Option<String>,
    reason: Option<String>,
    /// What is put around the value first; absent: the parent is there.
    base: Option<Value>,
    refused: Vec<Refused>,
    /// Reasons that no refusal may give.
    #[serde(default)]
    silent: Vec<String>,
    #[serde(default)]
    accepted: Vec<Value>,
}

#[derive(Deserialize)]
struct Refused {
    value: Value,
    field: Option<String>,
    reason: Option<String>,
    says: String,
}

#[rstest]
#[case::pol_02("POL-02")]
#[case::pol_03("POL-03")]
#[case::pol_12("POL-12")]
#[case::pol_16("POL-16")]
#[case::cidr_06("CIDR-06")]
#[case::cidr_07("CIDR-07")]
#[case::cidr_08("CIDR-08")]
#[case::ops_01("OPS-01")]
#[case::ops_02("OPS-02")]
#[case::ops_08("OPS-08")]
#[case::if_05("IF-05")]
fn values(#[case] id: &str) {
    check_all(id, cases("refused.yaml", id));
}

#[rstest]
#[case::act_01("ACT-01")]
#[case::act_02("ACT-02")]
#[case::act_03("ACT-03")]
#[case::act_04("ACT-04")]
#[case::act_05("ACT-05")]
#[case::safe_01("SAFE-01")]
#[case::safe_02("SAFE-02")]
#[case::safe_03("SAFE-03")]
fn settings(#[case] id: &str) {
    check_all(id, cases("settings.yaml", id));
}

/// All that is said to each value, so that a change of words is seen.
#[rstest]
#[case::values("refused.yaml")]
#[case::settings("settings.yaml")]
fn the_words_of_refusals(#[case] file: &str) {
    let mut said = String::new();
    for case in all_cases::<Case>(file) {
        for refused in &case.refused {
            let problems = parse(&document_of(&case, &refused.value)).unwrap_err();
            writeln!(said, "{}: {}\n{}\n", case.at, refused.value, lines(&problems)).unwrap();
        }
    }
    insta::assert_snapshot!(format!("words_{}", file.trim_end_matches(".yaml")), said);
}

fn check_all(id: &str, cases: Vec<Case>) {
    for case in cases {
        for refused in &case.refused {
            check_refused(&case, refused);
        }
        for accepted in &case.accepted {
            let result = parse(&document_of(&case, accepted));
            let problems = result.as_ref().err().map(|problems| lines(problems));
            assert_eq!(problems, None, "{id}: {accepted} must be accepted");
        }
    }
}

fn document_of(case: &Case, value: &Value) -> Value {
    let Some(base) = &case.base else { return document_with(&case.at, value.clone()) };
    let (parent, key) = case.at.rsplit_once('/').unwrap();
    let mut around = base.clone();
    around[key] = value.clone();
    document_with(parent, around)
}

fn check_refused(case: &Case, refused: &Refused) {
    let Err(problems) = parse(&document_of(case, &refused.value)) else {
        panic!("{} must be refused at {}", refused.value, case.at);
    };
    let field = refused.field.as_ref().or(case.field.as_ref()).unwrap();
    let reason = refused.reason.as_ref().or(case.reason.as_ref()).unwrap();
    let found = problems.iter().any(|problem| {
        &problem.field == field
            && problem.reason.as_str() == reason
            && (problem.message.contains(&refused.says) || problem.fix.contains(&refused.says))
    });
    let wanted = format!("{reason} at {field} saying {:?} for {}", refused.says, refused.value);
    assert!(found, "no {wanted}, but:\n{}", lines(&problems));
    let silent = |problem: &&Problem| case.silent.iter().any(|reason| reason == problem.reason.as_str());
    let loud: Vec<Problem> = problems.iter().filter(silent).cloned().collect();
    assert!(loud.is_empty(), "{} must not lead to:\n{}", refused.value, lines(&loud));
}
