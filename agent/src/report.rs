//! The node's state as the answer to a status question. It reads counters and decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use sluice_dataplane::{AttachMode, Error, attachment::RunStatistics};
use sluice_ebpf_common::{Counter, Counters, Event, Malformed, Outcome};
use sluice_ipc::v1alpha1 as ipc;
use sluice_policy::{Enforcement, InterfacePlan, Mode, PlannedRule};

use crate::{attempt::Foreign, interface::Interface, node::Node, policies, set_status};

/// One reading of everything.
#[derive(Clone, Debug)]
pub struct Report {
    /// What is wrong with the node as a whole.
    pub problems: Vec<String>,
    /// By policy.
    pub policies: Vec<ipc::PolicyStatus>,
    /// By interface that a policy wants, or that carries a program of ours.
    pub interfaces: Vec<ipc::InterfaceStatus>,
    /// By address set.
    pub sets: Vec<ipc::AddressSetStatus>,
    /// The table that holds those which rules read.
    pub table: ipc::AddressTableStatus,
    /// Selected and left alone.
    pub skipped: Vec<ipc::SkippedInterface>,
    /// What rates are computed from, by interface index.
    pub samples: BTreeMap<u32, Sample>,
}

/// What has moved on an interface.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// The program that ran; run statistics are its own.
    pub program: u32,
    /// Packets that the program saw.
    pub packets: u64,
    /// Packets that it dropped.
    pub drops: u64,
    /// Its runs, while run statistics are on.
    pub runs: RunStatistics,
}

impl Report {
    /// Reads `node`.
    pub fn of(node: &Node) -> Self {
        let mut report = Self {
            problems: node.problems(),
            policies: policies::report(node),
            interfaces: Vec::new(),
            sets: set_status::report(node),
            table: set_status::table(node),
            skipped: skipped(node),
            samples: BTreeMap::new(),
        };
        for (ifindex, interface) in &node.interfaces {
            let mut status = describe(node, *ifindex, interface);
            match count(interface, &mut status) {
                Ok(Some(sample)) => drop(report.samples.insert(*ifindex, sample)),
                Ok(None) => {}
                Err(error) => report.problems.push(format!("interface {ifindex}: {error}")),
            }
            report.interfaces.push(status);
        }
        report.interfaces.sort_by(|a, b| a.name.cmp(&b.name));
        report
    }
}

fn skipped(node: &Node) -> Vec<ipc::SkippedInterface> {
    let one = |skipped: &sluice_policy::Skipped| ipc::SkippedInterface {
        interface: skipped.interface.clone(),
        policy: skipped.policy.clone(),
        reason: skipped.reason.to_owned(),
        message: skipped.message.clone(),
    };
    node.plan.skipped.iter().map(one).collect()
}

fn describe(node: &Node, ifindex: u32, interface: &Interface) -> ipc::InterfaceStatus {
    let mut status = ipc::InterfaceStatus { ifindex, ..ipc::InterfaceStatus::default() };
    if let Some(link) = interface.link() {
        status.name.clone_from(&link.name);
        status.driver = link.driver.clone().unwrap_or_default();
        status.mtu = link.mtu;
        status.rx_queues = link.channels.map_or(link.rx_queues, |channels| channels.combined + channels.rx);
    }
    if let Some(wanted) = &interface.wanted {
        status.mode_asked = mode_asked(wanted.mode).to_owned();
        status.policies.clone_from(&wanted.policies);
    }
    status.mode_in_force = interface.mode.map_or("", AttachMode::name).to_owned();
    status.foreign_program = interface.foreign.as_ref().map(foreign);
    explain(node, ifindex, interface, &mut status);
    status
}

/// Why it is not as it was asked for: a step that failed, or what the interface answered.
fn explain(node: &Node, ifindex: u32, interface: &Interface, status: &mut ipc::InterfaceStatus) {
    let answer = node.answers.get(ifindex);
    let unexplained = answer.is_none() && status.mode_asked == "Auto" && status.mode_in_force == "Generic";
    let (reason, message) = if let Some(failure) = &interface.failure {
        let runs = if interface.mode.is_some() { "what was in force stays" } else { "nothing is in force" };
        ("StepFailed", format!("{failure}; {runs}"))
    } else if interface.wanted.is_none() {
        ("PolicyUnreadable", "kept from an earlier run: a policy that cannot be read may want it".to_owned())
    } else if unexplained {
        (
            "Adopted",
            "kept from an earlier run; why it is not native was lost with the state directory".to_owned(),
        )
    } else if let Some(answer) = answer {
        status.remedy = answer.remedy.clone().unwrap_or_default();
        (answer.reason.as_str(), answer.message.clone())
    } else {
        ("", String::new())
    };
    status.reason = reason.to_owned();
    status.message = message;
}

fn foreign(foreign: &Foreign) -> ipc::ForeignProgram {
    ipc::ForeignProgram { id: foreign.id, name: foreign.name.clone(), mode: foreign.mode.clone() }
}

fn mode_asked(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "Auto",
        Mode::Native => "Native",
        Mode::Generic => "Generic",
    }
}

/// Reads what the kernel says and counted of what is attached.
fn count(interface: &Interface, status: &mut ipc::InterfaceStatus) -> Result<Option<Sample>, Error> {
    let Some(attachment) = &interface.attachment else {
        return Ok(None);
    };
    let ids = attachment.ids()?;
    status.program_id = ids.program;
    status.link_id = ids.link;
    status.revision = attachment.digest().unwrap_or_default().to_owned();
    status.verified = interface.proof.as_ref().map_or("", |proof| proof.verified().as_str()).to_owned();
    let counters = attachment.counters()?;
    status.outcomes = outcomes(&counters);
    status.malformed = malformed(&counters);
    status.events = events(&counters);
    status.degraded = degraded(interface, &counters);
    if let Some(plan) = &interface.in_force {
        status.rules = rules(plan, &attachment.rule_counters(&counters)?);
        if plan.sources() > 0 {
            status.sources_evicted = attachment.sources_evicted(plan.sources())?;
        }
    }
    Ok(Some(Sample {
        program: ids.program,
        packets: counters.packets(),
        drops: drops(&counters),
        runs: attachment.run_statistics()?,
    }))
}

fn drops(counters: &Counters) -> u64 {
    let drops = Outcome::ALL.iter().filter(|outcome| outcome.drops());
    drops.map(|outcome| counters.outcomes[*outcome as usize].packets).sum()
}

fn outcomes(counters: &Counters) -> Vec<ipc::OutcomeCounter> {
    let one = |outcome: &Outcome| {
        let Counter { packets, bytes } = counters.outcomes[*outcome as usize];
        let verdict = if outcome.drops() { "Drop" } else { "Pass" };
        ipc::OutcomeCounter {
            outcome: outcome.name().to_owned(),
            verdict: verdict.to_owned(),
            packets,
            bytes,
        }
    };
    Outcome::ALL.iter().map(one).collect()
}

fn malformed(counters: &Counters) -> Vec<ipc::MalformedCounter> {
    let one = |reason: &Malformed| {
        let Counter { packets, bytes } = counters.malformed[*reason as usize];
        ipc::MalformedCounter { reason: reason.name().to_owned(), packets, bytes }
    };
    Malformed::ALL.iter().map(one).filter(|counter| counter.packets > 0).collect()
}

fn events(counters: &Counters) -> Vec<ipc::EventCounter> {
    let one = |event: &Event| {
        let Counter { packets, bytes } = counters.events[*event as usize];
        ipc::EventCounter { event: event.name().to_owned(), packets, bytes }
    };
    Event::ALL.iter().map(one).filter(|counter| counter.packets > 0).collect()
}

fn degraded(interface: &Interface, counters: &Counters) -> Vec<ipc::Warning> {
    let unmarked = interface.unmarked(counters);
    let message = format!(
        "{unmarked} packets went on without the mark that a rule gives them, because the driver leaves no room for \
         metadata in front of packets. mode: Generic has room on every device."
    );
    let warning = ipc::Warning { reason: "MetadataUnsupported".to_owned(), message };
    (unmarked > 0).then_some(warning).into_iter().collect()
}

/// One row for each name: rules of the failsafe may share one, and then share a counter.
fn rules(plan: &InterfacePlan, counted: &BTreeMap<String, Counter>) -> Vec<ipc::RuleCounter> {
    let mut seen = BTreeSet::new();
    let first = plan.rules.iter().filter(|rule| seen.insert((&rule.policy, &rule.rule)));
    first.map(|rule| rule_counter(rule, counted)).collect()
}

fn rule_counter(rule: &PlannedRule, counted: &BTreeMap<String, Counter>) -> ipc::RuleCounter {
    let count = |name: String| counted.get(&name).copied().unwrap_or_default();
    let Counter { packets, bytes } = count(rule.counter_name());
    let exceeded = rule.exceeded_counter_name().map(count);
    ipc::RuleCounter {
        policy: rule.policy.clone(),
        rule: rule.rule.clone(),
        action: rule.action.as_str().to_owned(),
        packets,
        bytes,
        exceeded_packets: exceeded.map(|counter| counter.packets),
        exceeded_bytes: exceeded.map(|counter| counter.bytes),
        dry_run: rule.enforcement == Enforcement::DryRun,
    }
}
