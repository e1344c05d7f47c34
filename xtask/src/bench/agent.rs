//! The agent: from the rename of a policy file to its program in force, and what the agent takes of the
//! machine. Nobody asks the agent while times are taken: the kernel says what is in force.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use aya::programs::links::PinnedLink;

use super::figure::Figure;
use super::process::{resident_megabytes, usage};
use super::statistics::{Summary, percentile, summarise};
use crate::demo::agent::{place, policy};
use crate::demo::interrupt;
use crate::demo::stage::{POLICY_FILE, Stage};

const CHANGES: u16 = 100;
const MODE: &str = "Native";
/// Between two looks at the link: a hundredth of what is usual.
const LOOK: Duration = Duration::from_micros(100);
const PATIENCE: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(10);

const LATENCY_LIMIT: f64 = 100.0;
const MEMORY_LIMIT: f64 = 30.0;
/// One tick is the least that can be seen: a hundredth of a second, a thousandth of the time watched.
const TICKS_LIMIT: f64 = 1.0;

/// Measures on a stage where no policy is in force yet; `progress` is told how much is done.
pub fn measure(stage: &mut Stage, progress: &mut dyn FnMut(f64) -> Result<()>) -> Result<Vec<Figure>> {
    stage.apply_policy(MODE)?;
    let link = Link::open(stage)?;
    let mut times = Vec::new();
    for number in 0..CHANGES {
        times.push(change(stage, &link, number)?);
        progress(f64::from(number + 1) / f64::from(2 * CHANGES))?;
    }
    drop(link);
    let pid = stage.agent.pid();
    let memory = resident_megabytes(pid)?;
    wait_until_verified(stage)?;
    let before = usage(pid)?;
    let started = Instant::now();
    while started.elapsed() < IDLE {
        interrupt::check()?;
        sleep(Duration::from_millis(100));
        progress(f64::midpoint(1.0, started.elapsed().as_secs_f64() / IDLE.as_secs_f64()))?;
    }
    let now = usage(pid)?;
    let mut figures = latency(&times)?;
    figures.push(once("agent/rss", "MB", memory, MEMORY_LIMIT, format!("after {CHANGES} changes")));
    #[allow(clippy::cast_precision_loss, reason = "A few ticks.")]
    let ticks = now.ticks_since(&before) as f64;
    let notes = format!(
        "in {} s in which nothing changes; woken {} times",
        IDLE.as_secs(),
        now.wake_ups_since(&before)
    );
    figures.push(once("agent/idle-cpu", "ticks", ticks, TICKS_LIMIT, notes));
    Ok(figures)
}

fn latency(times: &[f64]) -> Result<Vec<Figure>> {
    let summary = summarise(times).context("nothing was measured")?;
    let p99 = percentile(times, 99).context("nothing was measured")?;
    let figure = |name, median, limit, notes: &str| Figure {
        name,
        unit: "ms",
        summary: Summary { median, ..summary },
        baseline: None,
        limit,
        notes: notes.to_owned(),
    };
    let notes = "rename of the policy file to its program in force, read from the link every 0.1 ms";
    Ok(vec![
        figure("apply/latency-p50", summary.median, None, notes),
        figure("apply/latency-p99", p99, Some(LATENCY_LIMIT), ""),
    ])
}

fn once(name: &'static str, unit: &'static str, value: f64, limit: f64, notes: String) -> Figure {
    let summary = Summary { median: value, min: value, max: value, runs: 1 };
    Figure { name, unit, summary, baseline: None, limit: Some(limit), notes }
}

/// Changes the policy once. Returns the milliseconds until the link runs another program.
fn change(stage: &Stage, link: &Link, number: u16) -> Result<f64> {
    let text = policy(stage.device(), MODE, &[9, 10_000 + number]);
    let before = link.program()?;
    let started = Instant::now();
    place(stage.folder(), POLICY_FILE, &text)?;
    while link.program()? == before {
        interrupt::check()?;
        ensure!(
            started.elapsed() < PATIENCE,
            "change {number} is not in force after {PATIENCE:?}; {}",
            stage.agent.last_words()
        );
        sleep(LOOK);
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Until then the agent looks at the counters now and then, and is not idle.
fn wait_until_verified(stage: &mut Stage) -> Result<()> {
    let started = Instant::now();
    loop {
        interrupt::check()?;
        stage.send_few()?;
        if stage.interface(0)?.verified == "Verified" {
            return Ok(());
        }
        ensure!(
            started.elapsed() < PATIENCE,
            "the agent has not proved in {PATIENCE:?} that the program runs"
        );
        sleep(Duration::from_millis(50));
    }
}

/// The device's link, held open: the kernel shows which program it runs in a file, which costs it next to
/// nothing.
struct Link {
    _link: PinnedLink,
    shown: String,
}

impl Link {
    fn open(stage: &Stage) -> Result<Self> {
        let link = PinnedLink::from_pin(stage.pinned_link()).context("open the pinned link")?;
        for entry in fs::read_dir("/proc/self/fdinfo").context("list open files")? {
            let shown = entry?.path().display().to_string();
            // The folder's own descriptor is listed too, and is closed again by now.
            if fs::read_to_string(&shown).is_ok_and(|text| program_id(&text).is_some()) {
                return Ok(Self { _link: link, shown });
            }
        }
        anyhow::bail!("the kernel does not show which program the link runs")
    }

    fn program(&self) -> Result<u32> {
        let text = fs::read_to_string(&self.shown).context("read the link")?;
        program_id(&text).context("the link runs no program")
    }
}

/// The program of an XDP link, as `/proc` shows an open one.
fn program_id(text: &str) -> Option<u32> {
    let field = |title: &str| text.lines().find_map(|line| line.strip_prefix(title)).map(str::trim);
    if field("link_type:")? != "xdp" {
        return None;
    }
    field("prog_id:")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::program_id;

    #[test]
    fn only_an_xdp_link_runs_a_program_of_ours() {
        let link = "pos:\t0\nflags:\t02000002\nlink_type:\txdp\nlink_id:\t7\nprog_tag:\tab\nprog_id:\t1314\n";
        assert_eq!(program_id(link), Some(1314));
        assert_eq!(program_id(&link.replace("xdp", "tcx")), None);
        assert_eq!(program_id("pos:\t0\n"), None);
    }
}
