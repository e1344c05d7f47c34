//! Builds the programs that are shown, as they would be shipped.

use std::env;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::step::command;

/// A sign of life this often, where cargo gives none.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// The programs under show.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `sluice-agent`.
    pub agent: PathBuf,
    /// `sluicectl`.
    pub sluicectl: PathBuf,
}

/// Builds them, with cargo's own progress. What the Makefile has just built is only looked at.
pub fn programs() -> Result<Programs> {
    let this = env::current_exe().context("find this program")?;
    let profile = this.parent().context("find the directory of this program")?;
    // The Makefile builds this program and those in one go, so that there is nothing left to report.
    let quiet = if profile.ends_with("release") { " --quiet" } else { "" };
    // All three, so that cargo chooses the same features of their dependencies in every case.
    let words = format!("cargo build --release{quiet} -p sluice-agent -p sluicectl -p xtask");
    let mut cargo = command(&words)?.spawn().with_context(|| format!("start {words}"))?;
    let started = Instant::now();
    let mut next = Duration::from_secs(1);
    let status = loop {
        if let Some(status) = cargo.try_wait()? {
            break status;
        }
        let elapsed = started.elapsed();
        if !quiet.is_empty() && elapsed > next {
            eprintln!("building the programs, which have changed: {} s ...", elapsed.as_secs());
            next = elapsed + SIGN_OF_LIFE;
        }
        sleep(Duration::from_millis(20));
    };
    ensure!(status.success(), "the programs do not build");
    let release = profile.parent().unwrap_or(Path::new("target")).join("release");
    Ok(Programs { agent: release.join("sluice-agent"), sluicectl: release.join("sluicectl") })
}
