//! Runs frames through the loaded program and through the reference, and compares all that both say.

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use sluice_dataplane::instance::Output;
use sluice_ebpf_common::{Event, Outcome};
use sluice_policy::reference::{Decision, Marks, Packet, TokenBuckets, Verdict, dissect, evaluate};
use sluice_policy::{Action, Bindings, CompiledRules, Enforcement, InterfacePlan, PlannedRule};

use crate::policies::{Input, Sets};
use crate::program::{
    Counted, Machine, Program, bindings, event_name, hex, malformed_name, metadata, outcome_name,
};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
/// The lowest rate is 1 a second, and the reference's clock stands still: a run has to be over before a token comes.
const LONGEST_RUN: Duration = Duration::from_millis(900);
const ATTEMPTS: usize = 5;

/// Makes something wrong on the way to the program, or in what the reference reads.
pub trait Tampering {
    /// Changes what is loaded. `plan` is that of the reference.
    fn program(&self, plan: &InterfacePlan, bindings: &mut Bindings) -> CompiledRules {
        plan.compiled(bindings).unwrap()
    }

    /// Changes what the reference has read.
    fn packet(&self, packet: Packet) -> Packet {
        packet
    }
}

/// Nothing is wrong.
pub struct Honest;

impl Tampering for Honest {}

/// The program and the reference say different things.
pub struct Disagreement {
    /// The first frame about which they do.
    pub frame: usize,
    pub message: String,
}

/// What one of the two says of one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    action: u32,
    /// What travels with the packet, and the slot of the rule that marked last.
    mark: Option<(Marks, u16)>,
}

/// The plan with what it needs.
struct Judges<'a> {
    plan: &'a InterfacePlan,
    sets: &'a Sets,
    program: Program,
    limits: TokenBuckets,
    tampering: &'a dyn Tampering,
}

/// Compares everything about these frames, which come one after the other.
pub fn compare(
    machine: &mut Machine,
    input: &Input,
    plan: &InterfacePlan,
    frames: &[Vec<u8>],
    tampering: &dyn Tampering,
) -> Result<(), Disagreement> {
    for _ in 0..ATTEMPTS {
        let mut judges = Judges::new(machine, input, plan, tampering);
        let begun = Instant::now();
        let outputs: Vec<Output> = frames.iter().map(|frame| judges.program.run(frame)).collect();
        if begun.elapsed() > LONGEST_RUN {
            continue;
        }
        let Some(wrong) = judges.first_wrong(frames, &outputs) else { return Ok(()) };
        return Err(Judges::new(machine, input, plan, tampering).explain(frames, wrong));
    }
    panic!("the machine is too busy to run {} frames within {LONGEST_RUN:?}", frames.len());
}

impl<'a> Judges<'a> {
    fn new(
        machine: &mut Machine,
        input: &'a Input,
        plan: &'a InterfacePlan,
        tampering: &'a dyn Tampering,
    ) -> Self {
        let mut bindings = bindings(plan);
        let compiled = tampering.program(plan, &mut bindings);
        let program = machine.load(plan, &input.sets, bindings, &compiled);
        Self { plan, sets: &input.sets, program, limits: TokenBuckets::default(), tampering }
    }

    /// The first frame about which the two differ; the last one if only the sums of the counters do.
    fn first_wrong(&mut self, frames: &[Vec<u8>], outputs: &[Output]) -> Option<usize> {
        let mut expected = Counted::default();
        for (index, (frame, output)) in frames.iter().zip(outputs).enumerate() {
            let said = self.reference(frame, &mut expected);
            if said != self.said(output) || output.packet != *frame {
                return Some(index);
            }
        }
        (self.program.counted() != expected).then_some(frames.len() - 1)
    }

    fn reference(&mut self, frame: &[u8], counted: &mut Counted) -> Said {
        let packet = self.tampering.packet(dissect(frame));
        let verdict = evaluate(&self.plan.rules, self.sets, &mut self.limits, &packet);
        count(&verdict, &self.plan.rules, frame.len(), counted);
        let last = verdict.counted.iter().rev().find(|rule| marks(&self.plan.rules[**rule]));
        let slot = || last.map_or(0, |rule| self.program.slot(&name(&self.plan.rules[*rule])));
        Said {
            action: if verdict.decision == Decision::Drop { XDP_DROP } else { XDP_PASS },
            mark: verdict.mark.map(|marks| (marks, slot())),
        }
    }

    #[allow(clippy::unused_self, reason = "reads as a question to the run")]
    fn said(&self, output: &Output) -> Said {
        let metadata = metadata(output);
        let given =
            metadata.map(|given| (Marks { mark: given.mark(), priority: given.priority() }, given.rule));
        Said { action: output.action, mark: given }
    }

    /// Again, frame by frame, to find the first that is counted differently, and to say how.
    fn explain(mut self, frames: &[Vec<u8>], last: usize) -> Disagreement {
        let mut expected = Counted::default();
        for (index, frame) in frames[..=last].iter().enumerate() {
            let output = self.program.run(frame);
            let counted = self.program.counted();
            let before = expected.clone();
            let said = self.reference(frame, &mut expected);
            let (program, is_changed) = (self.said(&output), output.packet != *frame);
            if said != program || counted != expected || is_changed {
                let mut message = String::new();
                let packet = self.tampering.packet(dissect(frame));
                writeln!(message, "read as: {packet:?}").unwrap();
                writeln!(message, "reference: {said:?}\nprogram:   {program:?}").unwrap();
                writeln!(message, "counted before: {before}\nreference: {expected}\nprogram:   {counted}")
                    .unwrap();
                if is_changed {
                    writeln!(message, "the program has changed the packet").unwrap();
                }
                writeln!(message, "frame {index}, {} bytes: {}", frame.len(), hex(frame)).unwrap();
                return Disagreement { frame: index, message };
            }
        }
        let message = "frame by frame they agree: it depends on time, or on what was before".to_owned();
        Disagreement { frame: last, message }
    }
}

/// What the program should count.
fn count(verdict: &Verdict, rules: &[PlannedRule], bytes: usize, counted: &mut Counted) {
    counted.add(outcome_name(outcome(verdict, rules)), bytes);
    if let Some(reason) = verdict.malformed {
        counted.add(malformed_name(reason), bytes);
    }
    for index in &verdict.counted {
        let rule = &rules[*index];
        counted.add(name(rule), bytes);
        let exceeds = verdict.exceeded.contains(index);
        if exceeds {
            counted.add(format!("{}#exceeded", name(rule)), bytes);
        }
        if rule.enforcement == Enforcement::DryRun && (exceeds || rule.action == Action::Drop) {
            counted.add(event_name(Event::DryRunDrop), bytes);
        }
    }
}

fn outcome(verdict: &Verdict, rules: &[PlannedRule]) -> Outcome {
    let Some(rule) = verdict.decided_by.map(|index| &rules[index]) else { return Outcome::PassNoMatch };
    match rule.action {
        Action::Drop if rule.is_default_action() => Outcome::DropDefault,
        Action::Drop => Outcome::DropRule,
        Action::RateLimit(_) => Outcome::DropRateLimit,
        Action::Steer(_) => Outcome::Steer,
        Action::Socket(_) => Outcome::Socket,
        _ if rule.is_failsafe() => Outcome::PassFailsafe,
        _ if rule.is_default_action() => Outcome::PassDefault,
        _ => Outcome::PassRule,
    }
}

fn name(rule: &PlannedRule) -> String {
    format!("{}/{}", rule.policy, rule.rule)
}

fn marks(rule: &PlannedRule) -> bool {
    rule.enforcement == Enforcement::Enforce && matches!(rule.action, Action::Mark(_))
}

impl fmt::Debug for Disagreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
