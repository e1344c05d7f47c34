//! What `status` prints, as snapshots. Those of JSON and YAML are the description of their shape:
//! a change of one is a change for every script.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use insta::assert_snapshot;
use sluice_ipc::v1alpha1::{AgentStatus, InterfaceStatus, PolicyStatus, StatusReply};

use super::{count_problems, text::StatusText};
use crate::samples;

fn text(reply: &StatusReply, width: Option<u16>, counters: bool) -> String {
    StatusText { reply, now_unix_seconds: samples::NOW, width, counters }.to_string()
}

#[test]
fn everything_at_once() {
    assert_snapshot!(text(&samples::busy(), None, false));
}

#[test]
fn everything_at_once_in_120_columns() {
    assert_snapshot!(text(&samples::busy(), Some(120), false));
}

#[test]
fn everything_at_once_in_80_columns() {
    assert_snapshot!(text(&samples::busy(), Some(80), false));
}

#[test]
fn every_counter() {
    assert_snapshot!(text(&samples::busy(), None, true));
}

#[test]
fn the_whole_language() {
    let reply = StatusReply {
        policies: vec![samples::in_force(), samples::dry_run()],
        interfaces: vec![samples::limited(), samples::generic()],
        ..samples::idle()
    };
    assert_snapshot!(text(&reply, None, true));
}

#[test]
fn nothing_attached() {
    assert_snapshot!(text(&samples::idle(), None, false));
}

#[test]
fn nothing_attached_and_no_directory() {
    let agent = AgentStatus { policy_directory: String::new(), node_name: String::new(), ..samples::agent() };
    let reply = StatusReply { agent: Some(agent), ..StatusReply::default() };
    assert_snapshot!(text(&reply, None, false));
}

#[test]
fn nothing_attached_but_policies() {
    let reply =
        StatusReply { policies: samples::bad_policies(), skipped: samples::skipped(), ..samples::idle() };
    assert_snapshot!(text(&reply, None, false));
}

#[test]
fn problems_of_the_agent() {
    let problem =
        "cannot read the policy directory: No such file or directory; what was in force stays".into();
    let agent = AgentStatus { problems: vec![problem], ..samples::agent() };
    let reply = StatusReply { agent: Some(agent), ..samples::idle() };
    assert_snapshot!(text(&reply, None, false));
}

#[test]
fn that_an_interface_is_idle_needs_no_words() {
    let idle = InterfaceStatus {
        nanoseconds_unavailable_because: sluice_ipc::NO_PACKET_IN_SAMPLE.into(),
        ..samples::generic()
    };
    let reply = StatusReply { interfaces: vec![idle], ..samples::idle() };
    assert!(!text(&reply, None, false).contains("no ns per packet"));
    let json = serde_json::to_string(&reply).unwrap();
    assert!(json.contains(sluice_ipc::NO_PACKET_IN_SAMPLE), "{json}");
}

#[test]
fn long_names_and_huge_counters() {
    assert_snapshot!(text(&samples::long_names(), None, true));
}

#[test]
fn long_names_and_huge_counters_in_100_columns() {
    assert_snapshot!(text(&samples::long_names(), Some(100), true));
}

#[test]
fn rows_stay_below_their_titles() {
    for width in [Some(80), Some(100), Some(120), None] {
        let text = text(&samples::long_names(), width, false);
        let lines: Vec<_> = text.lines().collect();
        let header = lines.iter().position(|line| line.starts_with("POLICY")).unwrap();
        let state = lines[header].find("STATE").unwrap();
        let row = lines[header + 1..].iter().find(|line| line.contains("InForce")).unwrap();
        assert_eq!(row.find("InForce"), Some(state), "{text}");
        if let Some(width) = width {
            let widest = lines[header..].iter().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width.into(), "{text}");
        }
    }
}

#[test]
fn words_of_others_cannot_drive_the_terminal() {
    let evil = PolicyStatus { name: "\u{1b}[2Jevil\nROW".into(), ..samples::in_force() };
    let reply = StatusReply { policies: vec![evil], ..samples::busy() };
    let text = text(&reply, None, true);
    assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}[2Jevil\\nROW"), "{text}");
}

#[test]
fn json() {
    assert_snapshot!(serde_json::to_string_pretty(&samples::busy()).unwrap());
}

#[test]
fn yaml() {
    let reply = StatusReply { interfaces: vec![samples::foreign(), samples::native()], ..samples::busy() };
    assert_snapshot!(crate::output::yaml(&reply).unwrap());
}

/// Whatever others put into a string, it is that string again for whoever reads the YAML.
#[test]
fn yaml_says_what_json_says() {
    let mut reply = samples::long_names();
    reply.policies.extend(samples::bad_policies());
    let odd = [
        "0123456789012345",
        "12e4567890123456",
        "null",
        "yes",
        " x ",
        "a: b # c",
        "- a",
        "\u{1b}[2J",
        "a\n\n b\n",
    ];
    for text in odd.into_iter().map(String::from).chain([format!(
        "{}\n  {} ",
        "long ".repeat(40),
        "words ".repeat(40)
    )]) {
        let interface = InterfaceStatus { revision: text.clone(), message: text, ..samples::native() };
        reply.interfaces.push(interface);
    }
    let from_yaml: serde_json::Value = serde_saphyr::from_str(&crate::output::yaml(&reply).unwrap()).unwrap();
    assert_eq!(from_yaml, serde_json::to_value(&reply).unwrap());
}

#[test]
fn json_keeps_huge_counters_exact() {
    let json = serde_json::to_string(&samples::long_names()).unwrap();
    assert!(json.contains("\"packets\":18446744073709551615"), "{json}");
}

#[test]
fn what_check_counts() {
    assert_eq!(count_problems(&samples::idle()), 0);
    let good = StatusReply {
        policies: vec![samples::in_force()],
        interfaces: vec![samples::native(), samples::generic()],
        ..samples::idle()
    };
    assert_eq!(count_problems(&good), 0);
    let degraded = StatusReply { interfaces: vec![samples::limited()], ..samples::idle() };
    assert_eq!(count_problems(&degraded), 1);
    // Four policies, the foreign program's interface and the bypassed one, and three sets.
    assert_eq!(count_problems(&samples::busy()), 9);
    assert_eq!(count_problems(&StatusReply::default()), 1);
}
