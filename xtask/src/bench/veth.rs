//! Dropping on a real device, native and generic in turn: what the program takes of a packet (the kernel's
//! run statistics), and what a packet costs the receiving CPU in all.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::figure::Figure;
use super::statistics::summarise;
use crate::demo::interrupt;
use crate::demo::reading::Span;
use crate::demo::stage::Stage;

const ROUNDS: usize = 5;
const WARM_UP: Duration = Duration::from_millis(200);
const WINDOW: Duration = Duration::from_millis(700);
const SAMPLE_MILLISECONDS: u32 = 500;

#[derive(Default)]
struct Times {
    program: Vec<f64>,
    whole: Vec<f64>,
    rates: Vec<f64>,
}

/// Measures on two stages where the policy is in force, the first native, the second generic.
pub fn measure(stages: [&mut Stage; 2], progress: &mut dyn FnMut(f64) -> Result<()>) -> Result<Vec<Figure>> {
    let [native, generic] = stages;
    let mut times = [Times::default(), Times::default()];
    for round in 0..ROUNDS {
        for (stage, times) in [&mut *native, &mut *generic].into_iter().zip(&mut times) {
            flood(stage, times)?;
        }
        #[allow(clippy::cast_precision_loss, reason = "A few rounds.")]
        progress((round + 1) as f64 / ROUNDS as f64)?;
    }
    let [native, generic] = times;
    let base = summarise(&native.whole).context("the kernel keeps no times of its threads")?.median;
    Ok(vec![
        figure("veth/drop-native", &native.program, None, rate(&native))?,
        figure("veth/drop-generic", &generic.program, None, rate(&generic))?,
        figure("veth/receive-native", &native.whole, None, "all of the receiving CPU's time".to_owned())?,
        figure("veth/receive-generic", &generic.whole, Some(("veth/receive-native", base)), String::new())?,
    ])
}

fn flood(stage: &mut Stage, times: &mut Times) -> Result<()> {
    stage.start_flood()?;
    pause(WARM_UP)?;
    let from = stage.read()?;
    pause(WINDOW)?;
    let span = Span { from, to: stage.read()? };
    let interface = stage.interface(SAMPLE_MILLISECONDS)?;
    stage.stop_flood()?;
    let because = &interface.nanoseconds_unavailable_because;
    let program =
        interface.nanoseconds_per_packet.with_context(|| format!("no run statistics: {because}"))?;
    times.program.push(program);
    times.whole.extend(span.nanoseconds_per_frame());
    times.rates.push(span.flood_per_second());
    Ok(())
}

fn pause(length: Duration) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < length {
        interrupt::check()?;
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn rate(times: &Times) -> String {
    let rate = summarise(&times.rates).map_or(0.0, |summary| summary.median);
    format!("by run statistics, under a flood of {} packets a second", crate::demo::figures::rate(rate))
}

fn figure(
    name: &'static str,
    values: &[f64],
    baseline: Option<(&'static str, f64)>,
    notes: String,
) -> Result<Figure> {
    let summary = summarise(values).with_context(|| format!("{name}: nothing was measured"))?;
    Ok(Figure { name, unit: "ns", summary, baseline, limit: None, notes })
}
