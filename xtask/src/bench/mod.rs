//! `cargo xtask bench`: measures what was promised and writes `target/bench/results.json`. Figures that are
//! compared are taken in turn. It fails when a promise is not kept.

mod agent;
mod classify;
mod figure;
mod process;
mod program;
mod rules;
mod statistics;
mod veth;
mod xdp_filter;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::demo::build::{self, Programs};
use crate::demo::screen::{Screen, bar};
use crate::demo::stage::{Cpus, Stage};
use crate::demo::{interrupt, require_machine};
use figure::Figure;

/// Builds, measures, judges.
pub fn run() -> Result<()> {
    require_machine("bench")?;
    let cpus = Cpus::choose()?;
    let programs = build::programs()?;
    interrupt::listen()?;
    let mut screen = Screen::new();
    let figures = measure(&mut screen, &programs, cpus).inspect_err(|_| {
        // The error is what matters; a terminal that cannot be written to has no block to erase.
        screen.clear().unwrap_or_default();
    })?;
    let file = write(&programs, &figures)?;
    screen.say(&format!("\n{}\nwritten to {}", figure::table(&figures), file.display()))?;
    judge(&figures)
}

fn measure(screen: &mut Screen, programs: &Programs, cpus: Cpus) -> Result<Vec<Figure>> {
    let mut figures = part(screen, "the program, in the kernel's test runs", |progress| {
        program::measure(cpus.receive, progress)
    })?;
    figures.extend(part(screen, "deciding with 1 to 1,000 rules, and xdp-filter", |progress| {
        program::on_cpu(cpus.receive, || classify::measure(progress))
    })?);
    figures.extend(part(screen, "the agent: 100 changes, then ten idle seconds", |progress| {
        agent::measure(&mut Stage::set_up(programs, cpus, "bench-agent")?, progress)
    })?);
    figures.extend(part(screen, "dropping on veth pairs, native and generic in turn", |progress| {
        let mut native = Stage::set_up(programs, cpus, "bench-native")?;
        let mut generic = Stage::set_up(programs, cpus, "bench-generic")?;
        native.apply_policy("Native")?;
        generic.apply_policy("Generic")?;
        veth::measure([&mut native, &mut generic], progress)
    })?);
    Ok(figures)
}

fn part(
    screen: &mut Screen,
    label: &str,
    measure: impl FnOnce(&mut dyn FnMut(f64) -> Result<()>) -> Result<Vec<Figure>>,
) -> Result<Vec<Figure>> {
    screen.draw(&format!("{}  {label}", bar(0.0)))?;
    let figures = measure(&mut |done| screen.draw(&format!("{}  {label}", bar(done))))?;
    screen.say(&format!("measured: {label}"))?;
    Ok(figures)
}

fn write(programs: &Programs, figures: &[Figure]) -> Result<PathBuf> {
    // The programs lie in the target folder's folder `release`.
    let target = programs.agent.ancestors().nth(2).context("find the target directory")?;
    let folder = target.join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let file = folder.join("results.json");
    fs::write(&file, figure::file(figures)).with_context(|| format!("write {}", file.display()))?;
    Ok(file)
}

fn judge(figures: &[Figure]) -> Result<()> {
    let missed: Vec<&str> =
        figures.iter().filter(|figure| !figure.holds()).map(|figure| figure.name).collect();
    if !missed.is_empty() {
        bail!("above the limit: {}", missed.join(", "));
    }
    Ok(())
}
