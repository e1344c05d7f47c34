//! Lists of addresses as sets and as feeds: `cases/cidr-sets.yaml`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;
use std::net::IpAddr;

use common::{cases, lines};
use ipnet::IpNet;
use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};
use sluice_policy::cidr_set::feed::{self, Options};
use sluice_policy::cidr_set::{CidrSet, EntryReport};
use sluice_policy::{Problem, parse_file};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Case {
    id: String,
    #[serde(default)]
    title: String,
    feed: Option<String>,
    text: Option<String>,
    #[serde(default)]
    options: Flags,
    cidrs: Option<Vec<Value>>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    entries: Vec<String>,
    #[serde(default)]
    counts: BTreeMap<String, usize>,
    #[serde(default)]
    membership: BTreeMap<IpAddr, bool>,
    #[serde(default)]
    rejected: Vec<Rejected>,
    refused: Option<String>,
    says: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Flags {
    allow_empty: bool,
    allow_wide: bool,
    mask_host_bits: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rejected {
    place: String,
    reason: String,
    #[serde(default)]
    says: String,
}

/// What came of a list, whichever way it was read.
struct Read {
    prefixes: Vec<IpNet>,
    report: EntryReport,
    of_feed: BTreeMap<&'static str, usize>,
}

#[rstest]
#[case("CIDR-01")]
#[case("CIDR-02")]
#[case("CIDR-03")]
#[case("CIDR-04")]
#[case("CIDR-05")]
#[case("CIDR-06")]
#[case("CIDR-07")]
#[case("CIDR-08")]
#[case("CIDR-09")]
#[case("CIDR-10")]
fn case(#[case] id: &str) {
    for case in cases::<Case>("cidr-sets.yaml", id) {
        let what = format!("{} {} {:?}{:?}{:?}", case.id, case.title, case.feed, case.text, case.cidrs);
        match (read(&case), &case.refused) {
            (Err((reason, words)), Some(refused)) => {
                assert_eq!(&reason, refused, "{what}");
                assert!(words.contains(case.says.as_deref().unwrap_or("")), "{what}: {words}");
            }
            (Ok(read), None) => check(&case, &read, &what),
            (Err((reason, words)), None) => panic!("{what}: refused: {reason}: {words}"),
            (Ok(read), Some(_)) => panic!("{what}: not refused but {:?}", read.prefixes),
        }
    }
}

fn check(case: &Case, read: &Read, what: &str) {
    let entries: Vec<String> = read.prefixes.iter().map(ToString::to_string).collect();
    assert_eq!(entries, case.entries, "{what}");
    let EntryReport { entries, duplicates, overlaps, rejected, first_rejected } = &read.report;
    let mut counts = read.of_feed.clone();
    counts.extend([
        ("entries", *entries),
        ("duplicates", *duplicates),
        ("overlaps", *overlaps),
        ("rejected", *rejected),
    ]);
    for (name, count) in counts {
        assert_eq!(count, case.counts.get(name).copied().unwrap_or(0), "{what}: {name}");
    }
    for (address, is_in) in &case.membership {
        let found = read.prefixes.iter().any(|prefix| prefix.contains(address));
        assert_eq!(found, *is_in, "{what}: {address}");
    }
    if !case.rejected.is_empty() {
        let places = |rejected: &mut dyn Iterator<Item = (&String, &str)>| {
            rejected.map(|(place, reason)| format!("{place} {reason}")).collect::<Vec<_>>()
        };
        let found = places(&mut first_rejected.iter().map(|entry| (&entry.place, entry.reason.as_str())));
        let wanted = places(&mut case.rejected.iter().map(|entry| (&entry.place, entry.reason.as_str())));
        assert_eq!(found, wanted, "{what}");
        for (found, wanted) in first_rejected.iter().zip(&case.rejected) {
            assert!(found.message.contains(&wanted.says), "{what}: {found}");
        }
    }
}

fn read(case: &Case) -> Result<Read, (String, String)> {
    if let Some(cidrs) = &case.cidrs {
        let set = set(&json!({"cidrs": cidrs, "strict": case.strict}));
        let CidrSet { prefixes, report, .. } =
            set.map_err(|problems| (problems[0].reason.to_string(), lines(&problems)))?;
        return Ok(Read { prefixes, report, of_feed: BTreeMap::new() });
    }
    let bytes = match (&case.feed, &case.text) {
        (Some(feed), None) => {
            std::fs::read(format!("{}/tests/cases/feeds/{feed}", env!("CARGO_MANIFEST_DIR"))).unwrap()
        }
        (None, Some(text)) => text.clone().into_bytes(),
        _ => panic!("{}: one of feed, text and cidrs", case.id),
    };
    let Flags { allow_empty, allow_wide, mask_host_bits } = case.options;
    let feed = feed::read(&bytes, Options { allow_empty, allow_wide, mask_host_bits })
        .map_err(|error| (error.reason().to_string(), error.to_string()))?;
    let of_feed = [("lines", feed.lines), ("converted", feed.converted), ("masked", feed.masked)];
    Ok(Read { prefixes: feed.prefixes, report: feed.report, of_feed: of_feed.into() })
}

fn set(spec: &Value) -> Result<CidrSet, Vec<Problem>> {
    let document = json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "XdpCidrSet",
        "metadata": {"name": "list"},
        "spec": spec,
    });
    let mut parsed = parse_file("sets.json", document.to_string().as_bytes());
    assert_eq!((parsed.documents.len(), parsed.sets.len()), (0, 1), "{:?}", parsed.problems);
    parsed.sets.remove(0).result
}
