//! The project's own chores: `cargo xtask --help` lists them. Nothing here is shipped.
#![forbid(unsafe_code)]

mod bench;
mod demo;
mod generate;
mod junit;
mod kernels;
mod lint;
mod soak;
mod step;
mod test;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use std::env;
use std::path::Path;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "The project's own chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Measure, and write target/bench/results.json; needs root.
    Bench,
    /// Show on real packets that a policy does its job; needs root.
    Demo,
    /// Write the files that are generated from the sources, and are committed.
    Generate {
        /// Write nothing; fail if a file is not as it would be written.
        #[arg(long)]
        check: bool,
    },
    /// Ask other kernels, in guests, whether they take the eBPF programs.
    Kernels {
        /// Only this series, such as 6.1; may be given more than once.
        #[arg(long, value_name = "SERIES")]
        kernel: Vec<String>,
        /// Run the data plane's tests there too (minutes).
        #[arg(long)]
        tests: bool,
    },
    /// Check format, clippy, licences, spelling, dependency arrows, house rules and generated files.
    Lint,
    /// Compare the program with the reference evaluator, on random policies and frames, for a time; needs root.
    Soak {
        /// For so many minutes.
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// Where randomness begins: the same seed finds the same again.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Run every test and say how many passed, failed and were skipped.
    Test,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("find the workspace")?;
    env::set_current_dir(root).with_context(|| format!("enter {}", root.display()))?;
    match &arguments.chore {
        Chore::Bench => bench::run(),
        Chore::Demo => demo::run(),
        Chore::Generate { check } => generate::run(*check),
        Chore::Kernels { kernel, tests } => kernels::run(kernel, *tests),
        Chore::Lint => lint::run(),
        Chore::Soak { minutes, seed } => soak::run(*minutes, *seed),
        Chore::Test => test::run(),
    }
}
