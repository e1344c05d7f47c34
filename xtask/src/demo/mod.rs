//! `cargo xtask demo`: one policy against a flood, on real packets, natively and generically. It touches
//! nothing but network namespaces and folders of its own, and takes them down however it ends.

mod act;
pub mod agent;
pub mod build;
pub mod figures;
pub mod interrupt;
pub mod reading;
pub mod screen;
pub mod stage;
mod table;
mod verdict;

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use sluice_testkit::Feature;

use act::Act;
use build::Programs;
use screen::Screen;
use stage::Cpus;
use table::Row;
use verdict::Outcome;

const MODES: [&str; 2] = ["Native", "Generic"];
const NOTES: &str = "\
PACKETS/S   flood packets that arrive, all of them dropped
NS/PACKET   what one dropped packet costs the receiving CPU; PROGRAM is the part spent in Sluice's program
FLOOD       before the policy is in force; FLOOD + POLICY is after, in brackets its share of NO FLOOD
The rest of NS/PACKET is the work of the veth pair, where a frame is a socket buffer already in both modes. A
card's driver runs native XDP before it makes one, which is what native saves.";

/// Builds, shows, judges.
pub fn run() -> Result<()> {
    require_machine("demo")?;
    let cpus = Cpus::choose()?;
    let programs = build::programs()?;
    interrupt::listen()?;
    let mut screen = Screen::new();
    let started = Instant::now();
    introduce(&mut screen, cpus)?;
    let (rows, outcomes) = play(&mut screen, &programs, cpus).inspect_err(|_| {
        // The error is what matters; a terminal that cannot be written to has no block to erase.
        screen.clear().unwrap_or_default();
    })?;
    screen.say(&format!("{}\n{NOTES}\n", table::render(&rows)))?;
    judge(&mut screen, &outcomes, started)
}

/// An error that names what this machine lacks for the `chore`.
pub fn require_machine(chore: &str) -> Result<()> {
    ensure!(
        Feature::Root.is_there(),
        "the {chore} needs root: it makes network namespaces and loads programs into the kernel"
    );
    for feature in [Feature::NetworkNamespaces, Feature::Bpf, Feature::Program("ethtool")] {
        ensure!(feature.is_there(), "the {chore} needs {feature}, which this machine does not give");
    }
    Ok(())
}

fn introduce(screen: &mut Screen, cpus: Cpus) -> Result<()> {
    screen.title("Sluice demo: one policy against a flood, on real packets")?;
    let policy = agent::policy("<device>", "Native", &[9])
        .replace("Native", "Native           # Generic in the second half");
    let policy: String = policy.lines().flat_map(|line| ["    ", line, "\n"]).collect();
    screen.say(&format!(
        "\nHonest users call a TCP service while a flood to UDP port 9 hits the same device. CPU {} receives all\n\
         of it; CPU {} sends the flood. While it runs, this file is renamed into the agent's policy directory:\n\n{policy}",
        cpus.receive, cpus.send
    ))
}

fn play(screen: &mut Screen, programs: &Programs, cpus: Cpus) -> Result<(Vec<Row>, Vec<Outcome>)> {
    let (mut rows, mut outcomes) = (Vec::new(), Vec::new());
    for mode in MODES {
        screen.title(mode)?;
        let mut act = Act { screen: &mut *screen, programs, cpus, rows: &mut rows };
        outcomes.push(act.play(mode)?);
        screen.say("")?;
    }
    Ok((rows, outcomes))
}

fn judge(screen: &mut Screen, outcomes: &[Outcome], started: Instant) -> Result<()> {
    let failed: Vec<String> = outcomes.iter().flat_map(verdict::failures).collect();
    if !failed.is_empty() {
        bail!("the policy did not do its job:\n  {}", failed.join("\n  "));
    }
    for outcome in outcomes.iter().filter(|outcome| verdict::harmless(outcome)) {
        screen.say(&format!(
            "Note: in mode {} the flood did no harm to begin with; this machine is busy with something else.",
            outcome.mode
        ))?;
    }
    let dropped: u64 = outcomes.iter().map(|outcome| outcome.dropped).sum();
    screen.good_news(&format!(
        "Passed in {:.0} s: {} flood packets dropped, none got past the policy, nothing is left behind.",
        started.elapsed().as_secs_f64(),
        figures::count(dropped)
    ))
}
