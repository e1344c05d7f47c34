//! What deciding costs with 1 to 1,000 rules: the whole program, in turn with xdp-filter on the same packets.

use anyhow::{Context as _, Result, ensure};
use sluice_dataplane::instance::{Instance, Varied};

use super::figure::Figure;
use super::rules;
use super::statistics::summarise;
use super::xdp_filter::XdpFilter;
use crate::demo::interrupt;

const ROUNDS: usize = 9;
const REPEAT: u32 = 300_000;
const BASELINE: &str = "xdp-filter, all features";

/// Everything that a run changes, so that caches do not flatter: the lower bits of addresses, and all of the ports.
const VARIED: Varied = Varied {
    source: [u32::from_be(0x00ff_ffff), 0, 0, 0],
    destination: [u32::from_be(0x00ff_ffff), 0, 0, 0],
    source_port: u16::MAX,
    destination_port: u16::MAX,
    varies: 1,
};

struct Case {
    count: usize,
    names: [&'static str; 2],
    limits: [Option<f64>; 2],
    repeated: Instance,
    varied: Instance,
    filter: XdpFilter,
    times: [Vec<f64>; 2],
    base: Vec<f64>,
}

/// Measures; `progress` is told how much is done.
pub fn measure(progress: &mut dyn FnMut(f64) -> Result<()>) -> Result<Vec<Figure>> {
    let mut cases = vec![
        case(1, ["classify/1-rules", "classify/1-rules-varied"], [None; 2])?,
        case(10, ["classify/10-rules", "classify/10-rules-varied"], [None; 2])?,
        case(100, ["classify/100-rules", "classify/100-rules-varied"], [None; 2])?,
        case(1000, ["classify/1000-rules", "classify/1000-rules-varied"], [Some(45.0), Some(80.0)])?,
    ];
    for round in 0..ROUNDS {
        interrupt::check()?;
        cases.iter_mut().try_for_each(Case::round)?;
        #[allow(clippy::cast_precision_loss, reason = "A few rounds.")]
        progress((round + 1) as f64 / ROUNDS as f64)?;
    }
    let mut figures = Vec::new();
    for case in &cases {
        case.figures(&mut figures)?;
    }
    Ok(figures)
}

fn case(count: usize, names: [&'static str; 2], limits: [Option<f64>; 2]) -> Result<Case> {
    let plan = rules::plan(&rules::policy(count))?;
    Ok(Case {
        count,
        names,
        limits,
        repeated: rules::load(&plan, &Varied::default())?,
        varied: rules::load(&plan, &VARIED)?,
        filter: XdpFilter::load(count)?,
        times: [Vec::new(), Vec::new()],
        base: Vec::new(),
    })
}

impl Case {
    /// The packets that the first, the last and no rule drops, each with every program.
    fn round(&mut self) -> Result<()> {
        let packets = [rules::packet(0), rules::packet(self.count - 1), rules::other_packet()];
        let mut sums = [0.0; 3];
        for (index, packet) in packets.iter().enumerate() {
            let run = self.repeated.run(packet, REPEAT)?;
            ensure!(
                (run.action == 1) == (index < 2),
                "{}: packet {index}: action {}",
                self.names[0],
                run.action
            );
            sums[0] += f64::from(run.nanoseconds);
            sums[1] += f64::from(self.varied.run(packet, REPEAT)?.nanoseconds);
            sums[2] += self.filter.run(packet, REPEAT)?;
        }
        self.times[0].push(sums[0] / 3.0);
        self.times[1].push(sums[1] / 3.0);
        self.base.push(sums[2] / 3.0);
        Ok(())
    }

    fn figures(&self, figures: &mut Vec<Figure>) -> Result<()> {
        let base = summarise(&self.base).context("nothing was measured")?.median;
        for index in 0..2 {
            figures.push(Figure {
                name: self.names[index],
                unit: "ns",
                summary: summarise(&self.times[index]).context("nothing was measured")?,
                baseline: Some((BASELINE, base)),
                limit: self.limits[index],
                notes: String::new(),
            });
        }
        Ok(())
    }
}
