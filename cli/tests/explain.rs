//! `explain` as people and scripts call it, over the files in `tests/policies`, the examples, and
//! input that is no policy at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{fs, path::Path, time::Duration};

use assert_cmd::Command;
use insta::assert_snapshot;
use tempfile::TempDir;

fn explain(words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("sluicectl").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("explain").args(words);
    command
}

/// Exit code, standard output and standard error, of which one is empty.
fn outcome(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.is_empty() || err.is_empty(), "{out}\n---\n{err}");
    format!("exit code {}\n{out}{err}", output.status.code().unwrap())
}

#[test]
fn good_policies() {
    assert_snapshot!(outcome(&mut explain(&["-f", "tests/policies/good.yaml"])));
}

#[test]
fn the_whole_language() {
    assert_snapshot!(outcome(&mut explain(&["-f", "tests/policies/language.yaml"])));
}

#[test]
fn the_whole_language_as_json() {
    assert_snapshot!(outcome(&mut explain(&["-f", "tests/policies/language.yaml", "-o", "json"])));
}

#[test]
fn good_policies_as_json() {
    assert_snapshot!(outcome(&mut explain(&["-f", "tests/policies/good.yaml", "-o", "json"])));
}

#[test]
fn a_plan_for_a_node() {
    let words = ["-f", "tests/policies/good.yaml", "--links", "tests/policies/links.yaml"];
    assert_snapshot!(outcome(&mut explain(&words)));
}

#[test]
fn a_plan_for_a_node_as_json() {
    let words = ["-f", "tests/policies/good.yaml", "--links", "tests/policies/links.yaml", "-o", "json"];
    assert_snapshot!(outcome(&mut explain(&words)));
}

#[test]
fn a_plan_for_a_node_without_a_matching_interface() {
    let folder = TempDir::new().unwrap();
    let links = folder.path().join("links.yaml");
    fs::write(&links, "links: [{name: wg0, kind: wireguard, linkType: 65534}]").unwrap();
    let words = ["-f", "../examples/no-discard.yaml", "--links", links.to_str().unwrap()];
    assert_snapshot!(outcome(&mut explain(&words)));
}

#[test]
fn many_errors() {
    assert_snapshot!(outcome(&mut explain(&["-f", "tests/policies/many-errors.yaml"])));
}

#[test]
fn many_errors_as_json() {
    assert_snapshot!(outcome(&mut explain(&["-f", "tests/policies/many-errors.yaml", "-o", "json"])));
}

#[test]
fn every_bad_file_is_told() {
    let words = ["empty", "not-utf8", "not-yaml", "absent", "twin", "good"]
        .map(|name| format!("tests/policies/{name}.yaml"));
    let words: Vec<_> = ["-f"].into_iter().chain(words.iter().map(String::as_str)).collect();
    assert_snapshot!(outcome(&mut explain(&words)));
}

#[test]
fn a_directory_is_read_as_the_agent_reads_it() {
    let folder = TempDir::new().unwrap();
    let policy =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/no-discard.yaml"))
            .unwrap();
    for (file, name) in
        [("b.yaml", "second"), ("a.yml", "first"), (".hidden.yaml", "hidden"), ("notes.txt", "notes")]
    {
        fs::write(folder.path().join(file), policy.replace("no-discard", name)).unwrap();
    }
    fs::create_dir(folder.path().join("directory.yaml")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe.yaml"), 0o600.into()).unwrap();
    let output = explain(&["-o", "json", "-f"]).arg(folder.path()).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> = report["policies"].as_array().unwrap().iter().map(|policy| &policy["name"]).collect();
    assert_eq!(names, ["first", "second"]);
    let problems = report["problems"].as_array().unwrap().iter();
    let files: Vec<_> = problems.map(|problem| Path::new(problem["file"].as_str().unwrap())).collect();
    assert_eq!(files, ["directory.yaml", "pipe.yaml"].map(|name| folder.path().join(name)));
}

#[test]
fn a_directory_without_policies_is_an_error() {
    let folder = TempDir::new().unwrap();
    let outcome = outcome(explain(&["-f"]).arg(folder.path()));
    assert!(outcome.starts_with("exit code 1\n") && outcome.contains("NoPolicyFiles"), "{outcome}");
}

#[test]
fn it_reads_a_pipe() {
    let policy = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/no-discard.yaml")).unwrap();
    let outcome = outcome(explain(&["-f", "-"]).write_stdin(policy));
    assert!(outcome.starts_with("exit code 0\n1. no-discard (standard input)\n"), "{outcome}");
}

#[test]
fn a_file_that_is_named_twice_is_no_duplicate_of_itself() {
    explain(&["-f", "../examples/no-discard.yaml", "../examples/no-discard.yaml"]).assert().success();
}

#[test]
fn a_file_needs_no_option() {
    let named = outcome(&mut explain(&["-f", "tests/policies/good.yaml"]));
    assert_eq!(outcome(&mut explain(&["tests/policies/good.yaml"])), named);
    assert_eq!(explain(&[]).output().unwrap().status.code(), Some(64));
}

#[test]
fn standard_input_that_never_ends_is_refused() {
    let zeros = fs::File::open("/dev/zero").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sluicectl"));
    let output = command.args(["explain", "-f", "-"]).stdin(zeros).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("FileTooLarge"));
}

#[test]
fn a_pipe_and_a_device_are_refused_without_waiting_for_them() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("policies");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    for file in [pipe.to_str().unwrap(), "/dev/zero"] {
        let outcome = outcome(explain(&["-f", file]).timeout(Duration::from_secs(20)));
        assert!(outcome.starts_with("exit code 1\n") && outcome.contains("not a regular file"), "{outcome}");
    }
}

#[test]
fn bad_facts_about_links_are_told() {
    let words = ["-f", "../examples/no-discard.yaml", "--links", "tests/policies/good.yaml"];
    assert_snapshot!(outcome(&mut explain(&words)));
}

#[test]
fn each_example_is_good_and_all_go_together() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let files: Vec<_> = fs::read_dir(&examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.iter().any(|file| file.ends_with("no-discard.yaml")));
    for file in files {
        explain(&["-f"]).arg(&file).assert().success();
    }
    assert_snapshot!(outcome(&mut explain(&["-f", "../examples"])));
}
