//! Runs the differential tests with seeds that nobody has tried, optimised, until the time is over.

use std::time::SystemTime;

use anyhow::{Context as _, Result, ensure};

use crate::step::command;

const TEST: &str = "cargo test --quiet --release --package sluice-agent --test differential -- \
    --exact soak::soak --nocapture";

/// Without a seed the time is one, so that no two runs look at the same.
pub fn run(minutes: u64, seed: Option<u64>) -> Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("read the clock")?;
    let seed = seed.unwrap_or(now.as_secs());
    println!("{minutes} minutes, seed {seed}");
    let mut soak = command(TEST)?;
    soak.env("SOAK_MINUTES", minutes.to_string())
        .env("SOAK_SEED", seed.to_string())
        .env("TESTKIT_NO_SKIP", "1");
    let status = soak.status().context("start cargo")?;
    ensure!(status.success(), "the soak with seed {seed} failed: see above");
    Ok(())
}
