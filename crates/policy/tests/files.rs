//! Files as they come: good, empty, too large, no text, no YAML, hostile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::fmt::Write as _;

use common::{document, document_with, lines, parse};
use rstest::rstest;
use serde_json::json;
use sluice_policy::{
    MAX_FILE_BYTES, MAX_POLICY_RULES, Mode, ParsedFile, Reason, parse_document, parse_file, refuse_duplicates,
};

fn yaml(name: &str) -> String {
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpPolicy\nmetadata: {{name: {name}}}\nspec:\n  interfaces: [{{names: \
         [eth0]}}]\n  rules:\n  - {{name: r, match: {{protocol: UDP, destinationPorts: [9]}}, action: {{type: Drop}}}}\n"
    )
}

fn names(parsed: &ParsedFile) -> Vec<&str> {
    parsed.documents.iter().filter_map(|document| document.name.as_deref()).collect()
}

#[test]
fn a_file_holds_any_number_of_documents() {
    let text = format!("---\n# nothing\n---\n{}---\n{}---\n", yaml("a"), yaml("b"));
    let parsed = parse_file("p.yaml", text.as_bytes());
    assert_eq!(names(&parsed), ["a", "b"]);
    assert!(parsed.problems.is_empty());
    let policy = parsed.documents[0].result.as_ref().unwrap();
    assert_eq!((policy.file.as_str(), policy.mode, policy.priority), ("p.yaml", Mode::Auto, 100));
}

#[test]
fn json_is_read_too() {
    let parsed = parse_file("p.json", document().to_string().as_bytes());
    assert_eq!(names(&parsed), ["discard"]);
    assert!(parsed.documents[0].result.is_ok());
}

#[test]
fn a_bad_document_leaves_the_others_alone() {
    let text = format!("{}---\n{}---\nkind: XdpPolicy\n", yaml("a"), yaml("b").replace("[9]", "[70000]"));
    let parsed = parse_file("p.yaml", text.as_bytes());
    let is_good: Vec<bool> = parsed.documents.iter().map(|document| document.result.is_ok()).collect();
    assert_eq!(is_good, [true, false, false]);
}

/// Ten levels of ten references each.
fn alias_bomb() -> String {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let references = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{references}]").unwrap();
    }
    text
}

#[rstest]
#[case::empty(b"".to_vec(), Reason::EmptyFile, "no document")]
#[case::only_comments(b"# nothing here\n---\n".to_vec(), Reason::EmptyFile, "no document")]
#[case::ten_megabytes(vec![b'#'; 10 << 20], Reason::FileTooLarge, "10485760 bytes")]
#[case::one_byte_too_many(vec![b' '; MAX_FILE_BYTES + 1], Reason::FileTooLarge, "4194305 bytes")]
#[case::not_utf8(b"kind: \xff\xfe".to_vec(), Reason::NotUtf8, "byte 6")]
#[case::binary(vec![0; 64], Reason::NotYaml, "not valid YAML")]
#[case::open_bracket(b"kind: [XdpPolicy".to_vec(), Reason::NotYaml, "line")]
#[case::tabs(b"spec:\n\trules: []\n".to_vec(), Reason::NotYaml, "line")]
#[case::doubled_key(yaml("a").replace("kind:", "kind: XdpPolicy\nkind:").into_bytes(), Reason::NotYaml, "duplicate")]
#[case::alias_bomb(alias_bomb().into_bytes(), Reason::NotYaml, "too complex")]
#[case::deep_lists("[".repeat(100_000).into_bytes(), Reason::NotYaml, "not valid YAML")]
#[case::deeper_than_needed(format!("{}{}", "[".repeat(70), "]".repeat(70)).into_bytes(), Reason::NotYaml, "too complex")]
#[case::deep_mappings("{a: ".repeat(100_000).into_bytes(), Reason::NotYaml, "not valid YAML")]
#[case::many_nodes(format!("[{}]", "1,".repeat(200_000)).into_bytes(), Reason::NotYaml, "too complex")]
#[case::unknown_alias(b"kind: *nowhere\n".to_vec(), Reason::NotYaml, "not valid YAML")]
#[case::not_a_number(b"spec: .nan\n".to_vec(), Reason::NotYaml, "not valid YAML")]
fn files_that_cannot_be_read(#[case] bytes: Vec<u8>, #[case] reason: Reason, #[case] says: &str) {
    let parsed = parse_file("bad.yaml", &bytes);
    assert!(parsed.documents.is_empty(), "{parsed:?}");
    let [problem] = &parsed.problems[..] else { panic!("one problem is wanted: {parsed:?}") };
    assert_eq!((problem.file.as_str(), problem.reason), ("bad.yaml", reason), "{problem}");
    assert!(problem.message.contains(says), "{problem}");
    assert!(!problem.message.contains('\n'), "{problem}");
}

#[rstest]
#[case::list("- a\n", "", Reason::WrongKind)]
#[case::text("just words\n", "", Reason::WrongKind)]
#[case::other_kind("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "kind", Reason::WrongKind)]
#[case::later_kind("apiVersion: sluice.dev/v1alpha1\nkind: XdpSocketPool\n", "kind", Reason::NotImplemented)]
#[case::version("apiVersion: sluice.dev/v1\nkind: XdpPolicy\n", "apiVersion", Reason::WrongKind)]
fn documents_of_another_kind(#[case] text: &str, #[case] field: &str, #[case] reason: Reason) {
    let parsed = parse_file("p.yaml", text.as_bytes());
    let problems = parsed.documents[0].result.as_ref().unwrap_err();
    let found: Vec<_> = problems.iter().map(|problem| (problem.field.as_str(), problem.reason)).collect();
    assert_eq!(found, [(field, reason)]);
}

/// Everything at once: each problem is named, by its own field.
#[test]
fn all_problems_of_a_document_are_collected() {
    let document = json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "metadata": {"name": "Bad_Name"},
        "spec": {
            "priority": "high",
            "mode": "native",
            "prioritty": 1,
            "enforcement": "DryRun",
            "nodeSelector": {"matchLabels": {"role": "edge"}},
            "defaultAction": "Drop",
            "failsafe": {"services": {"SSH": {"disabled": "yes"}}},
            "foreignPrograms": "Chain",
            "interfaces": [{"names": ["eth+", 5]}, "eth0"],
            "rules": [
                {"name": "a", "match": {"protocol": "udp", "sources": ["192.0.2.0/24"], "destinationPort": [9]}},
                {"name": "a", "match": {"protocol": "TCP", "destinationPorts": [true, "70000", "9-1"]}, "action": {"type": "Deny"}},
                {"match": {"icmp": {"type": 300}}, "action": {"type": "RateLimit", "rateLimit": {"packetsPerSecond": 0}}},
            ],
        },
    });
    insta::assert_snapshot!(lines(&parse(&document).unwrap_err()));
}

#[test]
fn a_document_with_many_problems_lists_a_hundred() {
    let ports: Vec<String> = (0..256).map(|port| format!("{}", 70_000 + port)).collect();
    let problems = parse(&document_with("/spec/rules/0/match/destinationPorts", json!(ports))).unwrap_err();
    assert_eq!(problems.len(), 101);
    assert_eq!(
        problems[100].to_string(),
        "p.yaml: there are more than 100 problems. Correct those listed first."
    );
}

/// A full file of nonsense costs little time and space, and its problems can still be read.
#[rstest]
#[case::rules("{a: 1}", "rules")]
#[case::interfaces("{names: [5, 6, 7]}", "interfaces")]
#[case::ports("{name: r, match: {protocol: UDP, destinationPorts: [70000, 70001]}}", "rules")]
fn hostile_documents(#[case] element: &str, #[case] list: &str) {
    for count in [900, 5_000] {
        let elements = vec![element; count].join(",");
        let text = format!("kind: XdpPolicy\nmetadata: {{name: a}}\nspec: {{{list}: [{elements}]}}\n");
        let start = std::time::Instant::now();
        let parsed = parse_file("p.yaml", text.as_bytes());
        let problems = parsed.documents[0].result.as_ref().unwrap_err();
        assert!(problems.len() <= 101, "{}", problems.len());
        assert!(start.elapsed().as_secs() < 20, "{count} took {:?}", start.elapsed());
    }
}

#[test]
fn more_rules_than_a_policy_may_have_are_refused() {
    let rule = |index: usize| json!({"name": format!("r{index}"), "match": {"protocol": "UDP"}, "action": {"type": "Count"}});
    let rules = |count: usize| document_with("/spec/rules", (0..count).map(rule).collect());
    assert_eq!(parse(&rules(MAX_POLICY_RULES)).unwrap().rules.len(), 1024);
    let problems = parse(&rules(MAX_POLICY_RULES + 1)).unwrap_err();
    assert_eq!(
        lines(&problems),
        "[ListTooLong] p.yaml: spec.rules: the list has 1025 elements, and at most 1024 are allowed. Split it."
    );
}

#[test]
fn a_policy_reads_back_from_its_document_without_status() {
    let mut document = document_with("/status", json!({"observedGeneration": 3, "anything": true}));
    let policy = parse(&document).unwrap();
    document.as_object_mut().unwrap().remove("status");
    assert_eq!(policy.document, document);
    assert_eq!(parse_document("p.yaml", &policy.document).unwrap(), policy);
}

#[test]
fn what_is_accepted_fits_the_types_of_the_api() {
    let document = document_with("/spec/nodeSelector", json!({}));
    let policy = parse(&document).unwrap();
    let object: sluice_api::XdpPolicy = serde_json::from_value(policy.document).unwrap();
    assert_eq!(object.spec.rules[0].name, "udp9");
}

#[test]
fn one_name_in_two_files_is_refused_in_both() {
    let file = |name: &str, text: &str| (name.to_owned(), parse_file(name, text.as_bytes()));
    let mut files = [
        file("a.yaml", &yaml("same")),
        file("b.yaml", &format!("{}---\n{}", yaml("same"), yaml("other"))),
        file("c.yaml", &yaml("same").replace("[9]", "[70000]")),
        file("d.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"),
    ];
    refuse_duplicates(&mut files);
    let problems = |file: usize, document: usize| match &files[file].1.documents[document].result {
        Ok(_) => String::new(),
        Err(problems) => lines(problems),
    };
    let all = [problems(0, 0), problems(1, 0), problems(2, 0)].join("\n\n");
    insta::assert_snapshot!(all);
    assert_eq!(problems(1, 1), "");
}

#[test]
fn one_name_twice_in_one_file_is_refused() {
    let text = format!("{}---\n{}", yaml("same"), yaml("same"));
    let mut files = [("a.yaml".to_owned(), parse_file("a.yaml", text.as_bytes()))];
    refuse_duplicates(&mut files);
    for document in &files[0].1.documents {
        let problems = document.result.as_ref().unwrap_err();
        assert_eq!(problems[0].reason, Reason::DuplicateName);
        assert!(problems[0].message.contains("another document of this file"), "{}", problems[0]);
    }
}
