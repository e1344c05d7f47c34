//! Runs every test and sums up truly: a test that skipped itself counts as skipped, not as passed.

use crate::junit::{TestCase, parse};
use crate::lint::sources;
use crate::step::command;
use anyhow::{Context as _, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::{env, io};

#[derive(Debug, Default, Eq, PartialEq)]
struct Summary {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

pub fn run() -> Result<()> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let target = std::path::absolute(target)?;
    let skip_log = target.join("skipped-tests.log");
    remove_if_there(&skip_log)?;
    let tests = run_tests(&target.join("nextest/all/junit.xml"), &skip_log)?;
    let skips = skips(&fs::read_to_string(&skip_log).unwrap_or_default());
    let mut summary = sum_up(&tests, &skips);
    if sources::have_doc_tests()? {
        summary.passed += run_doc_tests()?;
    }
    for (missing, count) in count_by_feature(&skips) {
        println!("{count} skipped: this machine lacks {missing}");
    }
    println!("{summary}");
    if summary.failed > 0 || summary.passed == 0 {
        bail!("the tests failed");
    }
    Ok(())
}

fn run_tests(report: &Path, skip_log: &Path) -> Result<Vec<TestCase>> {
    remove_if_there(report)?;
    let status = command("cargo nextest run --profile all --workspace --all-targets --cargo-quiet")?
        .env("TESTKIT_SKIP_LOG", skip_log)
        // A run of all the tests changes nothing in the tree; `cargo nextest run` alone writes new snapshots.
        .env("INSTA_UPDATE", env::var_os("INSTA_UPDATE").unwrap_or_else(|| "no".into()))
        .status()
        .context("start cargo nextest")?;
    // Without a report nothing ran: the build failed, and has said why.
    let tests = parse(&fs::read_to_string(report).context("the tests did not run")?);
    ensure!(status.success() || tests.iter().any(|test| !test.passed), "cargo nextest failed ({status})");
    Ok(tests)
}

/// The number of doc tests that passed; an error if one failed.
fn run_doc_tests() -> Result<usize> {
    let output = command("cargo test --quiet --workspace --doc")?.output().context("start cargo test")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "doc tests: {said}{}", String::from_utf8_lossy(&output.stderr));
    Ok(said.lines().filter_map(passed).sum())
}

/// The number in "test result: ok. 3 passed; 0 failed; ...".
fn passed(line: &str) -> Option<usize> {
    line.strip_prefix("test result: ok. ")?.split_once(" passed")?.0.parse().ok()
}

/// By test binary and test: the feature that was missing.
type Skips = BTreeMap<(String, String), String>;

/// The log has a line for each skip: binary, test and missing feature between tabs.
fn skips(log: &str) -> Skips {
    let line = |line: &str| {
        let mut parts = line.splitn(3, '\t').map(str::to_owned);
        Some(((parts.next()?, parts.next()?), parts.next()?))
    };
    log.lines().filter_map(line).collect()
}

fn count_by_feature(skips: &Skips) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for missing in skips.values() {
        *counts.entry(missing.as_str()).or_default() += 1;
    }
    counts
}

fn sum_up(tests: &[TestCase], skips: &Skips) -> Summary {
    let mut summary = Summary::default();
    for test in tests {
        if !test.passed {
            summary.failed += 1;
        } else if skips.contains_key(&(test.binary.clone(), test.name.clone())) {
            summary.skipped += 1;
        } else {
            summary.passed += 1;
        }
    }
    summary
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Summary, passed, skips, sum_up};
    use crate::junit::TestCase;

    fn case(name: &str, passed: bool) -> TestCase {
        TestCase { binary: "kit::lab".into(), name: name.into(), passed }
    }

    #[test]
    fn doc_tests_are_counted() {
        assert_eq!(passed("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured"), Some(3));
        assert_eq!(passed("running 3 tests"), None);
    }

    #[test]
    fn a_skip_is_not_a_pass_and_a_failure_stays_one() {
        let tests = [case("a", true), case("b", true), case("c", false), case("d", true)];
        let skips = skips("kit::lab\tb\troot\nkit::lab\tc\troot\nother\td\troot\nkit::lab\tb\troot\n");
        assert_eq!(sum_up(&tests, &skips), Summary { passed: 2, failed: 1, skipped: 1 });
        assert_eq!(sum_up(&tests, &skips).to_string(), "2 passed, 1 failed, 1 skipped");
    }
}
