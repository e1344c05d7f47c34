//! Values that must be refused, by field and with a fix: `cases/refused.yaml`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{cases, document_with, lines, parse};
use rstest::rstest;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    at: String,
    field: Option<String>,
    reason: Option<String>,
    refused: Vec<Refused>,
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
#[case::pol_16("POL-16")]
#[case::ops_01("OPS-01")]
#[case::ops_02("OPS-02")]
#[case::ops_08("OPS-08")]
#[case::if_05("IF-05")]
fn values(#[case] id: &str) {
    for case in cases::<Case>("refused.yaml", id) {
        for refused in &case.refused {
            check_refused(&case, refused);
        }
        for accepted in case.accepted {
            let result = parse(&document_with(&case.at, accepted.clone()));
            let problems = result.as_ref().err().map(|problems| lines(problems));
            assert_eq!(problems, None, "{id}: {accepted} must be accepted");
        }
    }
}

fn check_refused(case: &Case, refused: &Refused) {
    let Err(problems) = parse(&document_with(&case.at, refused.value.clone())) else {
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
}
