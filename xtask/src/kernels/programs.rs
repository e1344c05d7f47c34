//! What runs in the guests: `kernel-check` and, if asked for, tests of the data plane;
//! and the names of everything that they must answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::archive::call;
use crate::step::command;

/// Prints a line a check by itself; the others are test programs.
pub const KERNEL_CHECK: &str = "kernel-check";
const TESTS: [&str; 2] = ["packets", "attach"];
const PACKAGE: &str = "sluice-dataplane";
const BUILD: &str = "cargo build --quiet --package sluice-dataplane --message-format json-render-diagnostics";

/// A program for the guest.
pub struct Program {
    /// Of the example or test.
    pub name: String,
    /// Without its debugging information.
    pub file: PathBuf,
    /// What it must answer.
    pub checks: Vec<String>,
}

/// Builds the programs, with or without the tests, and leaves stripped copies in `folder`.
pub fn build(folder: &Path, tests: bool) -> Result<Vec<Program>> {
    let targets = if tests { ["--examples", "--tests"].as_slice() } else { &["--examples"] };
    let output = command(BUILD)?.args(targets).output().context("start cargo")?;
    ensure!(
        output.status.success(),
        "cargo build: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let built = executables(&String::from_utf8_lossy(&output.stdout));
    let program = |name: &str| {
        let executable = built.get(name).with_context(|| format!("cargo built no {name}"))?;
        let file = folder.join(name);
        call(Command::new("strip").arg("-o").args([&file, executable]))?;
        let checks = list(name, executable)?;
        ensure!(!checks.is_empty(), "{name} has no checks");
        Ok(Program { name: name.to_owned(), file, checks })
    };
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let tests = if tests { &TESTS[..] } else { &[] };
    [KERNEL_CHECK].iter().chain(tests).map(|name| program(name)).collect()
}

/// Examples and tests of the data plane, by name, from cargo's messages.
fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    artifacts
        .filter_map(|artifact| {
            let ours = artifact["package_id"].as_str()?.contains(PACKAGE);
            let kind = artifact["target"]["kind"][0].as_str()?;
            let wanted = ours && (kind == "example" || kind == "test");
            let name = artifact["target"]["name"].as_str()?.to_owned();
            wanted.then(|| Some((name, PathBuf::from(artifact["executable"].as_str()?))))?
        })
        .collect()
}

fn list(name: &str, executable: &Path) -> Result<Vec<String>> {
    if name == KERNEL_CHECK {
        return Ok(call(Command::new(executable).arg("--list"))?.lines().map(str::to_owned).collect());
    }
    let listed = call(Command::new(executable).args(["--list", "--format", "terse"]))?;
    Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::executables;

    #[test]
    fn programs_are_found_in_the_messages_of_cargo() {
        let messages = concat!(
            r#"{"package_id":"path+file:///x/crates/dataplane#sluice-dataplane@0.1.0","target":{"kind":["test"],"name":"packets"},"executable":"/t/packets-1"}"#,
            "\n",
            r#"{"package_id":"path+file:///x/crates/dataplane#sluice-dataplane@0.1.0","target":{"kind":["lib"],"name":"sluice_dataplane"},"executable":null}"#,
            "\n",
            r#"{"package_id":"path+file:///x/agent#sluice-agent@0.1.0","target":{"kind":["test"],"name":"attach"},"executable":"/t/attach-1"}"#,
            "\n{\"reason\":\"build-finished\",\"success\":true}\n"
        );
        let found = executables(messages);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["packets"]);
        assert_eq!(found["packets"].to_str(), Some("/t/packets-1"));
    }
}
