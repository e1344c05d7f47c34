//! Every check that needs no test: runs all of them, cheapest first, and fails if one did.

mod arrows;
pub mod sources;

use crate::generate;
use crate::step::{call, step};
use anyhow::{Context as _, Result, bail};

const UNFORMATTED: &str = "not formatted; run `make fmt`";

type Check = (&'static str, fn() -> Result<()>);

const CHECKS: [Check; 8] = [
    ("lint: format of Rust", || call("cargo fmt --all -- --check -l").context(UNFORMATTED)),
    ("lint: format of TOML", || call("taplo fmt --check").context(UNFORMATTED)),
    ("lint: spelling", || call("typos")),
    ("lint: dependency arrows", arrows::check),
    ("lint: house rules", sources::check),
    ("lint: generated files", || generate::run(true)),
    ("lint: licences, sources, duplicates", || {
        call("cargo deny --log-level error check bans licenses sources")
    }),
    ("lint: clippy", || call("cargo clippy --quiet --keep-going --workspace --all-targets -- -D warnings")),
];

pub fn run() -> Result<()> {
    let mut failed = 0;
    for (label, check) in CHECKS {
        if let Err(error) = step(label, check) {
            eprintln!("{error:#}");
            failed += 1;
        }
    }
    if failed > 0 {
        bail!("{failed} of {} checks failed", CHECKS.len());
    }
    Ok(())
}
