//! Address sets as they lie in a policy directory: documents beside policies, and lists of addresses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{document, lines};
use rstest::rstest;
use serde_json::{Value, json};
use sluice_policy::cidr_set::CidrSet;
use sluice_policy::{
    ParsedFile, Problem, Reason, max_file_bytes, parse_document, parse_file, refuse_duplicates,
};

fn set(name: &str) -> Value {
    json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "XdpCidrSet",
        "metadata": {"name": name, "labels": {"list": "big"}},
        "spec": {"cidrs": ["192.0.2.0/24", "198.51.100.7"]},
    })
}

/// The one set of a file, or what is wrong with it.
fn only_set(parsed: ParsedFile) -> Result<CidrSet, Vec<Problem>> {
    assert_eq!((parsed.documents.len(), parsed.problems.len()), (0, 0), "{parsed:?}");
    let [set] = <[_; 1]>::try_from(parsed.sets).unwrap();
    set.result
}

fn parse(document: &Value) -> Result<CidrSet, Vec<Problem>> {
    only_set(parse_file("s.json", document.to_string().as_bytes()))
}

#[test]
fn one_file_may_hold_policies_and_sets() {
    let text = format!("{}\n---\n{}\n---\n{}\n", set("a"), document(), set("b"));
    let parsed = parse_file("both.yaml", text.as_bytes());
    assert_eq!(parsed.documents.len(), 1);
    assert!(parsed.documents[0].result.is_ok());
    let names: Vec<_> = parsed.sets.iter().map(|set| set.name.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("b")]);
    let set = parsed.sets[0].result.as_ref().unwrap();
    assert_eq!((set.file.as_str(), set.labels["list"].as_str(), set.strict), ("both.yaml", "big", false));
    assert_eq!(set.prefixes, ["192.0.2.0/24", "198.51.100.7/32"].map(|prefix| prefix.parse().unwrap()));
}

#[test]
fn a_set_is_no_policy_and_says_so() {
    let problems = parse_document("p.yaml", &set("a")).unwrap_err();
    assert_eq!((problems[0].field.as_str(), problems[0].reason), ("kind", Reason::WrongKind));
}

#[rstest]
#[case("/spec/cidr", json!(["192.0.2.1"]), "spec.cidr", Reason::UnknownField, "Did you mean cidrs?")]
#[case("/sepc", json!({}), "sepc", Reason::UnknownField, "Did you mean spec?")]
#[case("/spec/strict", json!("yes"), "spec.strict", Reason::WrongType, "true or false")]
#[case("/spec/cidrs", json!("192.0.2.1"), "spec.cidrs", Reason::WrongType, "square brackets")]
#[case("/spec/cidrs", json!(null), "spec.cidrs", Reason::MissingField, "Add cidrs")]
#[case("/spec/cidrs", json!(vec!["192.0.2.1"; 50_001]), "spec.cidrs", Reason::ListTooLong, "50001 elements")]
#[case("/spec", json!([]), "spec", Reason::WrongType, "a mapping")]
#[case("/metadata/name", json!("Big_List"), "metadata.name", Reason::InvalidName, "Big_List")]
#[case("/metadata/labels", json!({"list": 1}), "metadata.labels", Reason::InvalidValue, "in quotes")]
#[case("/metadata/labels", json!({"a b": "c"}), "metadata.labels", Reason::InvalidValue, "\"a b\"")]
#[case("/apiVersion", json!("sluice.dev/v1"), "apiVersion", Reason::WrongKind, "v1alpha1")]
fn what_is_wrong_with_a_set_is_named(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] field: &str,
    #[case] reason: Reason,
    #[case] says: &str,
) {
    let mut document = set("a");
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap()[key] = value;
    let problems = parse(&document).unwrap_err();
    assert!(problems.iter().all(|problem| problem.policy.is_none() && problem.message.contains("in set ")));
    let found = problems.iter().any(|problem| {
        problem.field == field && problem.reason == reason && problem.to_string().contains(says)
    });
    assert!(found, "{}", lines(&problems));
}

#[test]
fn cidr_11_fifty_thousand_entries_are_one_object_as_yaml_too() {
    let mut text =
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpCidrSet\nmetadata: {name: big-000}\nspec:\n  cidrs:\n"
            .to_owned();
    for number in 0..50_000_u32 {
        let address = std::net::Ipv4Addr::from(0x0a00_0000 + 7 * number);
        text.extend(["  - ", &address.to_string(), "/32\n"]);
    }
    let set = only_set(parse_file("big-000.yaml", text.as_bytes())).unwrap();
    assert_eq!((set.prefixes.len(), set.report.entries, set.report.rejected), (50_000, 50_000, 0));
    let widest = "  - \"2001:0db8:ffff:ffff:ffff:ffff:ffff:ffff/128\"\n";
    let parsed = parse_file("big.yaml", text.replace("  - 10.0.0.0/32\n", &widest.repeat(2)).as_bytes());
    assert_eq!(only_set(parsed).unwrap_err()[0].reason, Reason::ListTooLong);
    assert!(widest.len() * 50_000 < max_file_bytes("big.yaml".as_ref()));
}

#[test]
fn a_strict_set_names_its_bad_entries_and_counts_the_others() {
    let mut document = set("a");
    document["spec"] = json!({"strict": true, "cidrs": vec!["198.51.100.300"; 12]});
    let problems = parse(&document).unwrap_err();
    let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
    let places: Vec<String> = (0..10).map(|index| format!("spec.cidrs[{index}]")).collect();
    let wanted: Vec<_> = std::iter::once("spec.cidrs").chain(places.iter().map(String::as_str)).collect();
    assert_eq!(fields, wanted);
    assert!(problems[0].message.contains("2 more entries are bad"), "{}", problems[0]);
    assert!(problems.iter().all(|problem| problem.reason == Reason::EntriesRejected));
}

#[test]
fn cidr_05_the_rejected_entries_of_a_set_are_told_in_one_sentence() {
    let mut document = set("a");
    document["spec"]["cidrs"] = json!(["192.0.2.0/24", "a", "b", "c", "d", "192.0.2.1/24"]);
    let set = parse(&document).unwrap();
    insta::assert_snapshot!(set.report.rejection().unwrap(), @r#"1 entries loaded, 5 rejected: spec.cidrs[1]: "a": InvalidAddress: it is no address and no prefix; spec.cidrs[2]: "b": InvalidAddress: it is no address and no prefix; spec.cidrs[3]: "c": InvalidAddress: it is no address and no prefix; 2 more"#);
    document["spec"]["cidrs"] = json!([]);
    assert_eq!(parse(&document).unwrap().report.rejection(), None);
}

#[test]
fn a_list_of_addresses_is_a_set_that_is_named_after_its_file() {
    let text = b"; labels: list=big, sluice.dev/team=edge\n\n// labels: a=b\n# kept by hand\n192.0.2.1\n# labels: not=read\n";
    let set = only_set(parse_file("/etc/sluice/drop-list.cidrs", text)).unwrap();
    assert_eq!((set.name.as_str(), set.file.as_str()), ("drop-list", "/etc/sluice/drop-list.cidrs"));
    let labels: Vec<_> = set.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["a=b", "list=big", "sluice.dev/team=edge"]);
    assert_eq!(set.prefixes.len(), 1);
}

#[rstest]
#[case("a.cidrs", b"# nothing\n", Reason::EmptyFeed, "no entry")]
#[case("a.cidrs", b"<html>\n", Reason::MostlyRejected, "line 1")]
#[case("a.cidrs", b"\x1f\x8b\x08\x00", Reason::NotText, "gzip")]
#[case("a.cidrs", b"\xff\xfe1\x000\x00", Reason::NotText, "zero bytes")]
#[case("a.cidrs", b"{\"cidr\":\"192.0.2.1\"}\n{\"records\":2}\n", Reason::TruncatedFeed, "it has 2")]
#[case("a.cidrs", b"# labels: see the web site\n192.0.2.1\n", Reason::InvalidValue, "key=value")]
#[case("A.cidrs", b"192.0.2.1\n", Reason::InvalidName, "named after its file")]
fn lists_of_addresses_that_are_refused(
    #[case] file: &str,
    #[case] bytes: &[u8],
    #[case] reason: Reason,
    #[case] says: &str,
) {
    let problems = only_set(parse_file(file, bytes)).unwrap_err();
    assert_eq!((problems.len(), problems[0].reason), (1, reason), "{}", lines(&problems));
    assert!(problems[0].message.contains(says), "{}", problems[0]);
}

#[test]
fn remarks_may_be_in_any_encoding_but_entries_may_not() {
    let set = only_set(parse_file("a.cidrs", b"192.0.2.1 # M\xfcller\n# \xff\n192.0.2.\xb2\n")).unwrap();
    assert_eq!((set.report.entries, set.report.rejected), (1, 1));
    assert!(set.report.first_rejected[0].message.contains("UTF-8"));
}

#[test]
fn one_name_of_two_sets_is_refused_in_both_but_a_policy_may_have_it() {
    let file = |name: &str, bytes: &[u8]| (name.to_owned(), parse_file(name, bytes));
    let mut policy = document();
    policy["metadata"]["name"] = json!("drop");
    let mut files = [
        file("a.json", set("drop").to_string().as_bytes()),
        file("drop.cidrs", b"192.0.2.1\n"),
        file("other.cidrs", b"192.0.2.1\n"),
        file("p.json", policy.to_string().as_bytes()),
    ];
    refuse_duplicates(&mut files);
    for (index, other) in [(0, "drop.cidrs"), (1, "a.json")] {
        let problems = files[index].1.sets[0].result.as_ref().unwrap_err();
        assert_eq!((problems.len(), problems[0].reason), (1, Reason::DuplicateName));
        assert!(problems[0].message.contains(other), "{}", problems[0]);
    }
    assert!(files[2].1.sets[0].result.is_ok() && files[3].1.documents[0].result.is_ok());
}

#[test]
fn a_set_is_kept_as_json_and_read_back() {
    let set = parse(&set("a")).unwrap();
    let text = serde_json::to_string(&set).unwrap();
    assert_eq!(serde_json::from_str::<CidrSet>(&text).unwrap(), set);
}
