//! What a reading makes of what was in force before.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use sluice_policy::Reason;

use super::super::door::parse_file;
use super::super::test_policies::{bad, good, together};
use super::*;

type Contents = Vec<(&'static str, Vec<u8>)>;

fn read(last_good: &LastGood, files: &Contents) -> (LastGood, Snapshot) {
    let parsed = files.iter().map(|(file, bytes)| ((*file).to_owned(), parse_file(file, bytes)));
    read_files(last_good, parsed.collect())
}

fn file(name: &'static str, text: impl Into<Vec<u8>>) -> (&'static str, Vec<u8>) {
    (name, text.into())
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.policies.iter().map(|policy| policy.name.as_str()).collect()
}

fn stale(snapshot: &Snapshot) -> Vec<(&str, &str)> {
    snapshot.stale.iter().map(|stale| (stale.policy.as_str(), stale.file.as_str())).collect()
}

fn reasons(snapshot: &Snapshot, file: &str) -> Vec<Reason> {
    let report = snapshot.files.iter().find(|report| report.file == file).unwrap();
    report.problems.iter().map(|problem| problem.reason).collect()
}

#[test]
fn good_files_are_in_force_as_they_are() {
    let files =
        vec![file("a.yaml", together(&[good("one", 1), good("two", 2)])), file("b.yaml", good("three", 3))];
    let (last_good, snapshot) = read(&LastGood::default(), &files);
    assert_eq!(names(&snapshot), ["one", "three", "two"]);
    assert!(snapshot.stale.is_empty() && snapshot.files.iter().all(|report| report.problems.is_empty()));
    let (_, changed) =
        read(&last_good, &vec![file("a.yaml", good("one", 7)), file("b.yaml", good("three", 3))]);
    assert_eq!(names(&changed), ["one", "three"], "a document removed from a valid file removes its policy");
    assert_ne!(changed.policies[0], snapshot.policies[0]);
    assert_eq!(changed.policies[1], snapshot.policies[1]);
}

#[test]
fn every_bad_content_keeps_what_the_file_last_gave_and_is_reported() {
    let (last_good, before) = read(&LastGood::default(), &vec![file("a.yaml", good("one", 1))]);
    for (what, bytes) in bad("one") {
        let (after, snapshot) = read(&last_good, &vec![file("a.yaml", bytes)]);
        assert_eq!(snapshot.policies, before.policies, "{what}");
        assert_eq!(stale(&snapshot), [("one", "a.yaml")], "{what}");
        assert!(!reasons(&snapshot, "a.yaml").is_empty(), "{what}");
        assert_eq!(after, last_good, "{what}");
    }
}

#[test]
fn without_a_last_good_a_bad_file_gives_nothing() {
    for (what, bytes) in bad("one") {
        let (last_good, snapshot) = read(&LastGood::default(), &vec![file("a.yaml", bytes)]);
        assert!(
            snapshot.policies.is_empty() && snapshot.stale.is_empty() && last_good == LastGood::default(),
            "{what}"
        );
    }
}

#[test]
fn a_bad_document_does_not_hold_up_the_others_of_its_file() {
    let (last_good, _) = read(
        &LastGood::default(),
        &vec![file("a.yaml", together(&[good("one", 1), good("two", 2), good("three", 3)]))],
    );
    let broken = good("two", 2).replace("\"2\"", "\"70000\"");
    let (_, snapshot) = read(&last_good, &vec![file("a.yaml", together(&[good("one", 7), broken]))]);
    assert_eq!(names(&snapshot), ["one", "three", "two"]);
    assert_eq!(stale(&snapshot), [("three", "a.yaml"), ("two", "a.yaml")], "nothing leaves by a bad file");
    assert_ne!(snapshot.policies[0], last_good.policies["one"]);
}

#[test]
fn a_deleted_file_takes_its_policies_along_and_a_renamed_one_does_not() {
    let (last_good, _) =
        read(&LastGood::default(), &vec![file("a.yaml", good("one", 1)), file("b.yaml", good("two", 2))]);
    let (last_good, snapshot) = read(&last_good, &vec![file("c.yaml", good("two", 2))]);
    assert_eq!(names(&snapshot), ["two"]);
    assert!(snapshot.stale.is_empty() && reasons(&snapshot, "c.yaml").is_empty());
    assert_eq!(last_good.policies["two"].file, "c.yaml");
}

#[test]
fn a_policy_that_moves_into_a_bad_document_stays() {
    let (last_good, _) = read(&LastGood::default(), &vec![file("a.yaml", good("one", 1))]);
    let (_, snapshot) = read(&last_good, &vec![file("b.yaml", good("one", 1).replace("UDP", "UPD"))]);
    assert_eq!(stale(&snapshot), [("one", "b.yaml")]);
}

#[test]
fn of_two_documents_with_one_name_neither_is_taken() {
    let both = vec![file("a.yaml", good("one", 1)), file("b.yaml", good("one", 2))];
    let (_, fresh) = read(&LastGood::default(), &both);
    assert!(fresh.policies.is_empty());
    let (last_good, before) = read(&LastGood::default(), &vec![file("a.yaml", good("one", 1))]);
    let (last_good, snapshot) = read(&last_good, &both);
    assert_eq!(snapshot.policies, before.policies);
    assert_eq!(reasons(&snapshot, "a.yaml"), [Reason::DuplicateName]);
    assert_eq!(reasons(&snapshot, "b.yaml"), [Reason::DuplicateName]);
    let (_, resolved) = read(&last_good, &vec![file("b.yaml", good("one", 2))]);
    assert_eq!((resolved.policies[0].file.as_str(), resolved.stale.len()), ("b.yaml", 0));
}

#[test]
fn an_unreadable_directory_changes_nothing() {
    let (last_good, before) = read(&LastGood::default(), &vec![file("a.yaml", good("one", 1))]);
    let snapshot = unreadable(&last_good, "gone".to_owned());
    assert_eq!(snapshot.policies, before.policies);
    assert_eq!(stale(&snapshot), [("one", "a.yaml")]);
    assert_eq!(snapshot.directory_problem.as_deref(), Some("gone"));
}

fn any_bad_content() -> impl Strategy<Value = Vec<u8>> {
    // Large contents only make this slow: their size is refused before anything else is looked at.
    let small =
        |policy: u16| bad(&format!("policy-{policy}")).into_iter().filter(|(_, bytes)| bytes.len() < 10_000);
    let kinds = || proptest::sample::select((0..3).flat_map(small).collect::<Vec<_>>());
    // Pieces of good documents between bad ones, and bytes of any kind, as long as no document is good.
    let pieces = (kinds(), kinds()).prop_map(|((_, one), (_, two))| [one, b"\n---\n".to_vec(), two].concat());
    let noise = proptest::collection::vec(any::<u8>(), 0..200);
    let cut = (0..400_usize).prop_map(|length| {
        let text = good("policy-1", 1);
        text.as_bytes()[..length.min(text.len() - 1)].to_vec()
    });
    prop_oneof![4 => kinds().prop_map(|(_, bytes)| bytes), 2 => pieces, 1 => noise, 2 => cut].prop_filter(
        "holds something good",
        |bytes| {
            let parsed = parse_file("f", bytes);
            let good = parsed.documents.iter().filter(|document| document.result.is_ok()).count();
            // Two of one name count as bad: they refuse each other.
            good == 0 && !(parsed.documents.is_empty() && parsed.problems.is_empty())
        },
    )
}

proptest! {
    #[test]
    fn no_sequence_of_invalid_contents_removes_or_changes_a_policy(
        steps in proptest::collection::vec(proptest::collection::vec(any_bad_content(), 3), 1..6),
    ) {
        let start: Contents = vec![
            file("0.yaml", good("policy-0", 1)),
            file("1.yaml", good("policy-1", 2)),
            file("2.yaml", good("policy-2", 3)),
        ];
        let (mut last_good, before) = read(&LastGood::default(), &start);
        for contents in steps {
            let files = contents.into_iter().zip(&start).map(|(bytes, (name, _))| (*name, bytes)).collect();
            let (now, snapshot) = read(&last_good, &files);
            prop_assert_eq!(&snapshot.policies, &before.policies);
            prop_assert_eq!(snapshot.stale.len(), 3);
            last_good = now;
        }
        let (_, healed) = read(&last_good, &start);
        prop_assert!(healed.stale.is_empty());
        prop_assert_eq!(healed.policies, before.policies);
    }
}

/// A policy that names these sets.
fn needs(name: &str, sets: &str) -> Vec<u8> {
    let named = format!("match: {{sourceSets: [{sets}]}}");
    let before = "match: {protocol: UDP, destinationPorts: [\"9\"]}";
    good(name, 9).replace(before, &named).into_bytes()
}

fn sets(snapshot: &Snapshot) -> Vec<(&str, Option<Kept>)> {
    snapshot.sets.iter().map(|known| (known.set.name.as_str(), known.kept)).collect()
}

#[test]
fn a_policy_waits_for_its_sets_and_its_earlier_revision_stays() {
    let policy = file("a.yaml", needs("one", "x"));
    let (nothing, waiting) = read(&LastGood::default(), &vec![policy.clone()]);
    assert!(waiting.policies.is_empty() && nothing == LastGood::default());
    assert_eq!(reasons(&waiting, "a.yaml"), [Reason::CidrSetNotFound]);
    let with_set = vec![policy, file("x.cidrs", "192.0.2.0/24\n")];
    let (last_good, accepted) = read(&nothing, &with_set);
    assert_eq!((names(&accepted), sets(&accepted)), (vec!["one"], vec![("x", None)]));
    let (after, earlier) =
        read(&last_good, &vec![file("a.yaml", needs("one", "x, y")), file("x.cidrs", "192.0.2.0/24\n")]);
    assert_eq!((earlier.policies.clone(), stale(&earlier)), (accepted.policies, vec![("one", "a.yaml")]));
    assert_eq!(after, last_good);
    let both = [file("a.yaml", needs("one", "x, y")), file("y.cidrs", "::1\n")];
    let (_, snapshot) = read(&last_good, &both.to_vec());
    assert_eq!(sets(&snapshot), [("x", Some(Kept::Gone)), ("y", None)], "what is gone is still known");
    assert!(snapshot.stale.is_empty());
}

#[test]
fn a_set_stays_while_a_rule_names_it_or_its_file_is_bad() {
    let policy = file("a.yaml", needs("one", "x"));
    let list = |text: &'static str| file("x.cidrs", text);
    let (last_good, _) = read(&LastGood::default(), &vec![policy.clone(), list("192.0.2.0/24\n")]);
    let (kept, gone) = read(&last_good, &vec![policy.clone()]);
    assert_eq!((sets(&gone), &kept), (vec![("x", Some(Kept::Gone))], &last_good));
    let (kept, bad) = read(&last_good, &vec![policy, list("<html>\n")]);
    assert_eq!((sets(&bad), &kept), (vec![("x", Some(Kept::Unreadable))], &last_good));
    assert!(reasons(&bad, "x.cidrs").is_empty() && bad.files.iter().any(|report| !report.of_sets.is_empty()));
    let (kept, without) = read(&last_good, &vec![]);
    assert!(without.sets.is_empty() && kept == LastGood::default(), "no rule names it");
}

#[test]
fn a_set_that_is_the_same_is_known_to_be() {
    let list = vec![file("x.cidrs", "192.0.2.0/24\n")];
    let (first, _) = read(&LastGood::default(), &list);
    let (second, _) = read(&first, &list);
    assert!(std::sync::Arc::ptr_eq(&first.sets["x"], &second.sets["x"]));
}
