//! `cidrset` as an admin and a timer call it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    collections::BTreeMap,
    fs,
    net::Ipv4Addr,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use assert_cmd::Command;
use insta::assert_snapshot;
use serde_json::Value;
use sluice_policy::parse_file;
use tempfile::TempDir;

fn cidrset(words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("sluicectl").unwrap();
    command.current_dir(feeds()).arg("cidrset").args(words);
    command
}

fn feeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/policy/tests/cases/feeds")
}

/// Exit code, standard output and standard error.
fn outcome(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    format!("exit code {}\n{out}{err}", output.status.code().unwrap())
}

fn json(command: &mut Command) -> Value {
    serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
}

fn apply(directory: &Path, feed: &str, more: &[&str]) -> Command {
    let mut command = cidrset(&["apply", "--name", "drop", "--directory"]);
    command.arg(directory).args(["-f", "-"]).args(more).write_stdin(feed);
    command
}

/// Every seventh address, one a line.
fn list(numbers: impl IntoIterator<Item = u32>) -> String {
    let lines = numbers.into_iter().map(|number| format!("{}\n", Ipv4Addr::from(0x0a00_0000 + 7 * number)));
    lines.collect()
}

/// Inode and text of every set file; a file that was written again is another inode.
fn files(directory: &Path) -> BTreeMap<String, (u64, String)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let sets = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    sets.map(|entry| {
        let (name, inode) = (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().ino());
        (name, (inode, fs::read_to_string(entry.path()).unwrap()))
    })
    .collect()
}

fn entries(directory: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for (file, (_, text)) in files(directory) {
        let set = parse_file(&file, text.as_bytes()).sets.remove(0).result.unwrap();
        assert_eq!((format!("{}.yaml", set.name), set.report.rejected), (file, 0));
        assert_eq!(set.labels["sluice.dev/list"], "drop");
        all.extend(set.prefixes);
    }
    all.sort_unstable();
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn cidr_05_check_tells_each_bad_line() {
    assert_snapshot!(outcome(&mut cidrset(&["check", "damaged.txt"])));
}

#[test]
fn cidr_05_check_tells_each_bad_line_as_json() {
    assert_snapshot!(outcome(&mut cidrset(&["check", "damaged.txt", "-o", "json"])));
}

#[test]
fn cidr_04_check_tells_figures() {
    assert_snapshot!(outcome(&mut cidrset(&["check", "mixed.txt"])), @"
    exit code 0
    7 entries from 13 lines, 3 repeated, 1 within another
    ");
}

#[test]
fn cidr_02_check_refuses_an_empty_feed() {
    assert_snapshot!(outcome(&mut cidrset(&["check", "comments-only.txt"])), @r##"
    exit code 1
    error: comments-only.txt is not used: EmptyFeed: the feed has no entry (lines: 3)
      fix: look at the feed: it may have moved; if an empty list is meant, give --allow-empty
    "##);
    assert_snapshot!(outcome(&mut cidrset(&["check", "empty.txt", "-o", "json"])), @r##"
    exit code 1
    {
      "entries": 0,
      "duplicates": 0,
      "overlaps": 0,
      "rejected": 0,
      "firstRejected": [],
      "converted": 0,
      "masked": 0,
      "refused": {
        "reason": "EmptyFeed",
        "message": "the feed has no entry (lines: 0)",
        "fix": "look at the feed: it may have moved, or its server be failing"
      }
    }
    "##);
}

#[test]
fn cidr_02_an_empty_feed_never_replaces_a_good_list_without_a_flag() {
    let folder = TempDir::new().unwrap();
    let semicolon = fs::read_to_string(feeds().join("semicolon.txt")).unwrap();
    apply(folder.path(), &semicolon, &[]).assert().success();
    let before = files(folder.path());
    let three = ["192.0.2.0/25", "198.51.100.0/24", "203.0.113.64/26"];
    assert_eq!(entries(folder.path()), three);
    for feed in ["comments-only.txt", "empty.txt"] {
        let feed = fs::read_to_string(feeds().join(feed)).unwrap();
        let outcome = outcome(&mut apply(folder.path(), &feed, &[]));
        assert!(outcome.starts_with("exit code 1\n") && outcome.contains("EmptyFeed"), "{outcome}");
    }
    for feed in ["<html>", "192.0.2.1\n\u{0}", "{\"cidr\":\"192.0.2.1\"}\n{\"records\":2}"] {
        apply(folder.path(), feed, &[]).assert().failure();
    }
    assert_eq!(files(folder.path()), before, "nothing was touched");
    let rows = json(cidrset(&["list", "-o", "json", "--directory"]).arg(folder.path()));
    assert_eq!((&rows[0]["name"], &rows[0]["entries"]), (&Value::from("drop"), &Value::from(3)));
    assert!(rows[0]["lastImport"]["ageSeconds"].as_u64().unwrap() < 600);
    apply(folder.path(), "", &["--allow-empty"]).assert().success();
    assert!(entries(folder.path()).is_empty());
    assert_eq!(
        files(folder.path()).keys().collect::<Vec<_>>(),
        ["drop-000.yaml"],
        "the set is empty, not gone"
    );
}

#[test]
fn a_list_becomes_sets_under_one_label() {
    let folder = TempDir::new().unwrap();
    let feed = "192.0.2.0/24\n2001:db8::/32\nbad\n::ffff:198.51.100.7\n10.0.0.1/8\n0.0.0.0/0\n203.0.113.7\n";
    let more = ["--label", "team=edge", "--mask-host-bits", "--allow-wide"];
    assert_snapshot!(outcome(&mut apply(folder.path(), feed, &more)), @r##"
    exit code 0
    6 entries from 7 lines, 4 within another, 1 converted from IPv6 to IPv4, 1 with host bits taken off, 1 left out
      left out: line 3: "bad": InvalidAddress: it is no address and no prefix
    1 set of list drop: 1 written, 0 removed, 0 unchanged
    "##);
    assert_snapshot!(files(folder.path())["drop-000.yaml"].1, @r##"
    # Written by `sluicectl cidrset apply`, which will write it again: change the list, not this file.
    apiVersion: sluice.dev/v1alpha1
    kind: XdpCidrSet
    metadata:
      name: "drop-000"
      labels:
        "sluice.dev/list": "drop"
        "team": "edge"
    spec:
      cidrs:
      - 0.0.0.0/0
      - 10.0.0.0/8
      - 192.0.2.0/24
      - 198.51.100.7/32
      - 203.0.113.7/32
      - "2001:db8::/32"
    "##);
}

#[test]
fn a_small_change_of_the_list_touches_few_files() {
    let folder = TempDir::new().unwrap();
    let apply = |numbers: &mut dyn Iterator<Item = u32>| {
        json(&mut apply(folder.path(), &list(numbers), &["--max-entries", "400", "-o", "json"]))
    };
    let first = apply(&mut (0..10_000));
    assert_eq!((&first["shards"], first["written"].as_array().unwrap().len()), (&Value::from(34), 34));
    let before = files(folder.path());
    let again = apply(&mut (0..10_000).rev());
    assert_eq!((again["written"].as_array().unwrap().len(), again["entries"].as_u64()), (0, Some(10_000)));
    assert_eq!(files(folder.path()), before, "the same list writes no file");

    let changed = apply(&mut (0..10_000).filter(|number| !(4_510..4_610).contains(number)));
    assert_eq!(changed["written"], serde_json::json!(["drop-015.yaml"]));
    let after = files(folder.path());
    let touched = after.iter().filter(|(name, file)| before.get(*name) != Some(file)).count();
    assert_eq!((touched, after.len(), entries(folder.path()).len()), (1, 34, 9_900));
    let shorter = apply(&mut (0..5_000));
    assert_eq!(shorter["removed"].as_array().unwrap().len(), 17);
    assert_eq!(entries(folder.path()).len(), 5_000);
}

#[test]
fn cidr_11_a_list_of_a_hundred_thousand_is_cut_by_itself() {
    let folder = TempDir::new().unwrap();
    let applied = json(&mut apply(folder.path(), &list(0..100_000), &["-o", "json"]));
    assert_eq!((applied["entries"].as_u64(), applied["shards"].as_u64()), (Some(100_000), Some(4)));
    assert_eq!(entries(folder.path()).len(), 100_000);
}

#[test]
fn what_lies_beside_the_list_is_left_alone_and_what_is_in_the_way_is_told() {
    let folder = TempDir::new().unwrap();
    for beside in ["drop.yaml", "drop-list-000.yaml", "other-000.yaml", "drop-1.yaml"] {
        fs::write(folder.path().join(beside), "x").unwrap();
    }
    apply(folder.path(), "192.0.2.1\n", &[]).assert().success();
    assert_eq!(files(folder.path()).len(), 5);
    fs::write(folder.path().join("drop-001.yaml"), "kind: XdpPolicy\n").unwrap();
    let before = files(folder.path());
    let outcome = outcome(&mut apply(folder.path(), "192.0.2.2\n", &[]));
    let said = outcome.replace(folder.path().to_str().unwrap(), "DIR");
    assert_snapshot!(said, @r##"
    exit code 1
    error: DIR/drop-001.yaml is in the way: it holds other documents
      fix: move the file away, or choose another --name
    "##);
    assert_eq!(files(folder.path()), before);
}

#[test]
fn the_sets_of_a_directory_are_listed_with_what_is_wrong() {
    let folder = TempDir::new().unwrap();
    apply(folder.path(), "192.0.2.1\n192.0.2.2\nbad\n", &[]).assert().success();
    fs::write(folder.path().join("own.cidrs"), "192.0.2.1\n").unwrap();
    fs::write(folder.path().join("gone.cidrs"), "# nothing\n").unwrap();
    let outcome = outcome(cidrset(&["list", "--directory"]).arg(folder.path()));
    let ago = without_age(&outcome);
    assert_snapshot!(ago, @r##"
    exit code 1
    NAME SETS ENTRIES REJECTED LAST IMPORT FROM NOT READ
    drop 1 2 1 N s ago standard input -
    gone - 0 0 - - gone.cidrs
    own - 1 0 - - -
    "##);
    let empty = TempDir::new().unwrap();
    let none = cidrset(&["list", "--directory"]).arg(empty.path()).output().unwrap();
    assert_eq!(String::from_utf8(none.stdout).unwrap(), "no address set\n");
}

/// The age without its number, which depends on the machine.
fn without_age(text: &str) -> String {
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    words
        .map(|line| {
            (0..600).fold(line, |line, age| line.replace(&format!(" {age} s ago"), " N s ago")) + "\n"
        })
        .collect()
}

#[test]
fn words_that_cannot_be_are_refused() {
    let folder = TempDir::new().unwrap();
    for (words, says) in [
        (vec!["--name", "Big_List"], "lower-case"),
        (vec!["--name", "a", "--label", "nothing"], "key=value"),
        (vec!["--name", "a", "--max-entries", "50001"], "50000"),
    ] {
        let mut command = cidrset(&["apply", "-f", "mixed.txt", "--directory"]);
        let outcome = outcome(command.arg(folder.path()).args(words));
        assert!(outcome.starts_with("exit code 64\n") && outcome.contains(says), "{outcome}");
    }
    let outcome = outcome(&mut apply(folder.path(), "192.0.2.1", &["--label", "sluice.dev/list=x"]));
    assert!(outcome.starts_with("exit code 1\n") && outcome.contains("set by this command"), "{outcome}");
    assert!(files(folder.path()).is_empty());
    apply(&folder.path().join("absent"), "192.0.2.1", &[]).assert().failure().code(1);
}
