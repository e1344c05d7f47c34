//! One mode, from an idle node to a cleaned-up one, and what was seen on the way.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use sluice_ipc::v1alpha1::InterfaceStatus;

use super::build::Programs;
use super::figures::{count, percent, rate, whole};
use super::interrupt;
use super::reading::{Reading, Span};
use super::screen::{Screen, bar};
use super::stage::{Cpus, Stage, dropped};
use super::table::{self, Row};
use super::verdict::Outcome;

/// How long each state is measured.
const MEASURE: Duration = Duration::from_millis(2500);
/// Before that: connections that wait for a lost packet have their second try within this time.
const SETTLE: Duration = Duration::from_secs(2);
/// How long the flood runs alone, to tell what a packet costs, and how long without an agent.
const SHORT: Duration = Duration::from_millis(500);
const SAMPLE_MILLISECONDS: u32 = 400;
const TICK: Duration = Duration::from_millis(100);
/// Time for what was on its way when the flood ended.
const LAST_PACKETS: Duration = Duration::from_secs(2);

/// The demo in one mode.
pub struct Act<'a> {
    /// Where to say what happens.
    pub screen: &'a mut Screen,
    /// What is shown.
    pub programs: &'a Programs,
    /// The CPUs to use.
    pub cpus: Cpus,
    /// The table so far; its last line is this mode's.
    pub rows: &'a mut Vec<Row>,
}

impl Act<'_> {
    /// Plays it in `mode`, Native or Generic.
    pub fn play(&mut self, mode: &'static str) -> Result<Outcome> {
        self.rows.push(Row { mode, ..Row::default() });
        self.draw("setting up", 0.0)?;
        let mut stage = Stage::set_up(self.programs, self.cpus, &format!("demo-{}", mode.to_lowercase()))?;
        self.say(
            "lab",
            "two network namespaces joined by a veth pair, the agent and a TCP service in one of them",
        )?;
        stage.start_load();
        let idle = self.idle(&mut stage)?;
        let start = stage.read()?;
        let flooded = self.flooded(&mut stage, idle)?;
        let reached_before = self.policy(&mut stage, mode)?;
        let protected = self.protected(&mut stage, idle)?;
        let interface = self.cost(&mut stage)?;
        let dropped_without_agent = self.without_agent(&mut stage, &interface)?;
        let sent = stage.stop_flood()?.sent;
        let last = self.last_packets(&mut stage, &start, sent)?;
        let interface_at_end = stage.interface(0)?;
        let left_behind = self.clean_up(&mut stage)?;
        Ok(Outcome {
            mode,
            mode_in_force: interface.mode_in_force,
            verified: interface.verified,
            reached_before: reached_before - start.reached,
            reached_after: last.reached - reached_before,
            dropped: dropped(&interface_at_end),
            dropped_in_all: dropped_in_all(&interface_at_end),
            sent,
            dropped_without_agent,
            left_behind,
            idle,
            flooded,
            protected: protected.transactions_per_second(),
            failed_share: protected.failed_share(),
        })
    }

    fn idle(&mut self, stage: &mut Stage) -> Result<f64> {
        self.observe(stage, "honest users alone: warming up", SHORT, |_, _| {})?;
        let idle = self.observe(stage, "honest users alone", MEASURE, |row, span| {
            row.idle = Some(span.transactions_per_second());
        })?;
        let idle = idle.transactions_per_second();
        self.say(
            "no flood",
            &format!("{} honest transactions a second, each a TCP connection of its own", whole(idle)),
        )?;
        Ok(idle)
    }

    fn flooded(&mut self, stage: &mut Stage, idle: f64) -> Result<f64> {
        stage.start_flood()?;
        self.observe(stage, "flood, no policy: settling", SETTLE, |_, _| {})?;
        let flooded = self.observe(stage, "flood, no policy", MEASURE, |row, span| {
            row.flooded = Some(span.transactions_per_second());
        })?;
        let honest = flooded.transactions_per_second();
        self.say(
            "flood",
            &format!(
                "{} packets a second to UDP port 9 leave {} honest transactions a second ({})",
                rate(flooded.flood_per_second()),
                whole(honest),
                percent(honest, idle)
            ),
        )?;
        Ok(honest)
    }

    /// Returns how many flood packets had reached the stack when the policy was in force.
    fn policy(&mut self, stage: &mut Stage, mode: &str) -> Result<u64> {
        self.draw("applying the policy", 0.0)?;
        let (interface, after) = stage.apply_policy(mode)?;
        let reached = stage.reached_when_quiet()?;
        self.say(
            "policy",
            &format!(
                "renamed into place under the flood: in force after {} ms, mode {}",
                after.as_millis(),
                interface.mode_in_force
            ),
        )?;
        Ok(reached)
    }

    fn protected(&mut self, stage: &mut Stage, idle: f64) -> Result<Span> {
        let show = |row: &mut Row, span: &Span| {
            row.flood_per_second = Some(span.flood_per_second());
            row.dropped = Some(span.to.dropped);
        };
        self.observe(stage, "flood, with the policy: settling", SETTLE, show)?;
        let protected = self.observe(stage, "flood, with the policy", MEASURE, |row, span| {
            show(row, span);
            row.protected = Some(span.transactions_per_second());
        })?;
        let honest = protected.transactions_per_second();
        self.say(
            "protected",
            &format!(
                "{} packets a second dropped, {} got through: {} honest transactions a second ({})",
                rate(protected.flood_per_second()),
                count(protected.reached()),
                whole(honest),
                percent(honest, idle)
            ),
        )?;
        Ok(protected)
    }

    /// What one dropped packet costs, measured while nothing else is received.
    fn cost(&mut self, stage: &mut Stage) -> Result<InterfaceStatus> {
        stage.stop_load()?;
        let alone = self.observe(stage, "the cost of a packet", SHORT, |row, span| {
            row.nanoseconds = span.nanoseconds_per_frame();
        })?;
        let interface = stage.interface(SAMPLE_MILLISECONDS)?;
        self.row(|row| {
            row.nanoseconds = alone.nanoseconds_per_frame();
            row.program_nanoseconds = interface.nanoseconds_per_packet;
        });
        if let (Some(alone), Some(program)) =
            (alone.nanoseconds_per_frame(), interface.nanoseconds_per_packet)
        {
            let text = format!(
                "a dropped packet takes the receiving CPU {} ns, the program {} of them",
                whole(alone),
                whole(program)
            );
            self.say("cost", &text)?;
        }
        Ok(interface)
    }

    /// Kills the agent under the flood and starts it again. Returns how many packets were dropped meanwhile.
    fn without_agent(&mut self, stage: &mut Stage, before: &InterfaceStatus) -> Result<u64> {
        self.draw("no agent", 0.0)?;
        let (from, reached) = (stage.read()?, stage.reached()?);
        stage.kill_agent()?;
        let started = Instant::now();
        while started.elapsed() < SHORT {
            interrupt::check()?;
            sleep(TICK);
        }
        let reached = stage.reached()? - reached;
        stage.start_agent(self.programs)?;
        let span = Span { from, to: stage.read()? };
        let same = stage.interface(0)?.program_id == before.program_id;
        self.say(
            "no agent",
            &format!(
                "killed and started again under the flood: {} packets got through, {} program runs",
                count(reached),
                if same { "the same" } else { "another" }
            ),
        )?;
        Ok(span.dropped())
    }

    /// Waits for what was on its way when the flood ended.
    fn last_packets(&mut self, stage: &mut Stage, start: &Reading, sent: u64) -> Result<Reading> {
        let started = Instant::now();
        loop {
            interrupt::check()?;
            let last = stage.read()?;
            let span = Span { from: *start, to: last };
            self.row(|row| row.dropped = Some(last.dropped));
            if span.reached() + span.dropped() >= sent || started.elapsed() > LAST_PACKETS {
                return Ok(last);
            }
            sleep(TICK);
        }
    }

    /// Returns what is left, in words.
    fn clean_up(&mut self, stage: &mut Stage) -> Result<Vec<String>> {
        stage.kill_agent()?;
        stage.clean_up(self.programs)?;
        let mut left = Vec::new();
        if stage.has_program()? {
            left.push("a program on the device".to_owned());
        }
        if stage.pins.path().exists() {
            left.push(format!("the directory {}", stage.pins.path().display()));
        }
        self.say("cleanup", "by `sluicectl cleanup`: program, link and pins are gone")?;
        Ok(left)
    }

    /// Looks at the stage for some time, and shows what `show` makes of it.
    fn observe(
        &mut self,
        stage: &mut Stage,
        label: &str,
        length: Duration,
        show: impl Fn(&mut Row, &Span),
    ) -> Result<Span> {
        let from = stage.read()?;
        loop {
            interrupt::check()?;
            sleep(TICK);
            let span = Span { from, to: stage.read()? };
            self.row(|row| show(row, &span));
            let elapsed = span.to.at - from.at;
            self.draw(label, elapsed.as_secs_f64() / length.as_secs_f64())?;
            if elapsed >= length {
                return Ok(span);
            }
        }
    }

    fn row(&mut self, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.rows.last_mut() {
            change(row);
        }
    }

    fn say(&mut self, label: &str, text: &str) -> Result<()> {
        self.screen.say(&format!("  {label:<11}{text}"))
    }

    fn draw(&mut self, label: &str, done: f64) -> Result<()> {
        let mode = self.rows.last().map_or("", |row| row.mode);
        self.screen.draw(&format!("\n  {}  {mode}: {label}\n\n{}", bar(done), table::render(self.rows)))
    }
}

/// What the program has dropped for whatever reason.
fn dropped_in_all(interface: &InterfaceStatus) -> u64 {
    interface.outcomes.iter().filter(|outcome| outcome.verdict == "Drop").map(|outcome| outcome.packets).sum()
}
