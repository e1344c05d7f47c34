//! The cost of the program itself: runs in the kernel on ready-made frames, attached to nothing, in turn
//! with a program that only counts and drops.

use anyhow::{Context as _, Result, ensure};
use aya::Ebpf;
use aya::programs::{TestRun as _, TestRunOptions, Xdp};
use rustix::thread::{CpuSet, sched_setaffinity};
use sluice_dataplane::instance::{Instance, Varied};
use sluice_dataplane::test_programs::COUNT_AND_DROP;
use sluice_policy::parse_file;
use sluice_testkit::Frame;

use super::figure::Figure;
use super::rules;
use super::statistics::summarise;
use crate::demo::agent::policy;
use crate::demo::interrupt;

const ROUNDS: usize = 15;
const REPEAT: u32 = 500_000;
const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
/// What the program may take above one that only counts and drops.
const LIMIT: f64 = 10.0;
const BASELINE: &str = "count-and-drop";

struct Case {
    name: &'static str,
    frame: Vec<u8>,
    action: u32,
    times: Vec<f64>,
    over_baseline: Vec<f64>,
}

/// Measures; `progress` is told how much is done.
pub fn measure(cpu: usize, progress: &mut dyn FnMut(f64) -> Result<()>) -> Result<Vec<Figure>> {
    on_cpu(cpu, || measure_here(progress))
}

/// Does `work` on one CPU.
pub fn on_cpu<T>(cpu: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    let before = rustix::thread::sched_getaffinity(None)?;
    sched_setaffinity(None, &cpus).context("stay on one CPU")?;
    let result = work();
    sched_setaffinity(None, &before).context("leave that CPU")?;
    result
}

fn measure_here(progress: &mut dyn FnMut(f64) -> Result<()>) -> Result<Vec<Figure>> {
    let ours = one_rule()?;
    let mut counting = CountAndDrop::load()?;
    let mut cases = cases();
    let mut baseline = Vec::new();
    for round in 0..ROUNDS {
        interrupt::check()?;
        for case in &mut cases {
            let base = counting.run(&case.frame)?;
            let run = ours.run(&case.frame, REPEAT)?;
            ensure!(run.action == case.action, "{}: action {} is wrong", case.name, run.action);
            let time = f64::from(run.nanoseconds);
            baseline.push(base);
            case.times.push(time);
            case.over_baseline.push(time - base);
        }
        #[allow(clippy::cast_precision_loss, reason = "A few rounds.")]
        progress((round + 1) as f64 / ROUNDS as f64)?;
    }
    figures(&cases, &baseline)
}

fn figures(cases: &[Case], baseline: &[f64]) -> Result<Vec<Figure>> {
    let base = summarise(baseline).context("nothing was measured")?.median;
    let mut figures = Vec::new();
    for case in cases {
        figures.push(Figure {
            name: case.name,
            unit: "ns",
            summary: summarise(&case.times).context("nothing was measured")?,
            baseline: Some((BASELINE, base)),
            limit: None,
            notes: String::new(),
        });
    }
    let over = cases.first().and_then(|case| summarise(&case.over_baseline));
    figures.push(Figure {
        name: "program/one-rule-over-baseline",
        unit: "ns",
        summary: over.context("nothing was measured")?,
        baseline: None,
        limit: Some(LIMIT),
        notes: format!("median of the differences, each of two runs of {REPEAT} packets one after the other"),
    });
    Ok(figures)
}

fn cases() -> [Case; 3] {
    let ethernet = || Frame::ethernet([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]);
    let ipv4 = || ethernet().ipv4([10, 9, 0, 2].into(), [10, 9, 0, 1].into());
    let case = |name, frame: Frame, action| Case {
        name,
        frame: frame.pad_to(60).build(),
        action,
        times: Vec::new(),
        over_baseline: Vec::new(),
    };
    [
        case("program/one-rule", ipv4().udp(40_000, 9), XDP_DROP),
        case("program/no-match", ipv4().udp(40_000, 10), XDP_PASS),
        case("program/not-udp", ipv4().tcp(40_000, 9, 2), XDP_PASS),
    ]
}

/// The program with one rule, compiled from a policy as the agent does it.
fn one_rule() -> Result<Instance> {
    let parsed = parse_file("bench.yaml", policy("bench0", "Native", &[9]).as_bytes());
    let document = parsed.documents.into_iter().next().context("the policy is empty")?;
    let policy =
        document.result.map_err(|problems| anyhow::anyhow!("the policy is refused: {problems:?}"))?;
    rules::load(&rules::plan(&policy.document)?, &Varied::default())
}

/// The program that only counts and drops.
struct CountAndDrop(Ebpf);

impl CountAndDrop {
    const NAME: &str = "count_and_drop";

    fn load() -> Result<Self> {
        let mut ebpf = Ebpf::load(COUNT_AND_DROP).context("load the baseline")?;
        let program: &mut Xdp = ebpf.program_mut(Self::NAME).context("find the baseline")?.try_into()?;
        program.load().context("load the baseline")?;
        Ok(Self(ebpf))
    }

    /// Nanoseconds a run.
    fn run(&mut self, frame: &[u8]) -> Result<f64> {
        let program: &mut Xdp = self.0.program_mut(Self::NAME).context("find the baseline")?.try_into()?;
        let options = TestRunOptions { data_in: Some(frame), repeat: REPEAT, ..TestRunOptions::new() };
        let result = program.test_run(options).context("run the baseline")?;
        ensure!(result.return_value == XDP_DROP, "the baseline does not drop");
        Ok(result.duration.as_secs_f64() * 1e9)
    }
}
