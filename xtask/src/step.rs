//! One line a step: what it does and how long it took. What a command prints is shown only if it fails.

use anyhow::{Context as _, Result, bail};
use std::env;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::process::Command;
use std::time::Instant;

/// Runs one step of a chore; returns what it returns.
pub fn step<T>(label: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let live = stderr().is_terminal();
    if live {
        eprint!("{label} ...");
        stderr().flush()?;
    }
    let started = Instant::now();
    let result = work();
    let outcome = if result.is_ok() { "ok" } else { "FAILED" };
    let back = if live { "\r\x1b[K" } else { "" };
    eprintln!("{back}{label}: {outcome} ({:.1} s)", started.elapsed().as_secs_f64());
    result
}

/// Runs a command line of plain words to its end.
pub fn call(words: &str) -> Result<()> {
    let output = command(words)?.output().with_context(|| format!("start {words}"))?;
    if !output.status.success() {
        bail!(
            "`{words}` says:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// A command line of plain words, as if typed into a shell: without what cargo tells the programs that it
/// runs, which would make some build scripts run again.
pub fn command(words: &str) -> Result<Command> {
    let mut words = words.split_ascii_whitespace();
    let mut command = Command::new(words.next().context("no program given")?);
    command.args(words);
    let told_by_cargo = env::vars_os().map(|(name, _)| name).filter(|name| {
        name.to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
    });
    for name in told_by_cargo {
        command.env_remove(name);
    }
    Ok(command)
}
