//! One interface: what runs on it, what should, and the steps from one to the other. An error leaves
//! what runs in place.

use std::time::Instant;

use sluice_dataplane::{
    AttachMode, Error,
    attachment::Attachment,
    bpffs::PinFolder,
    links::{Link, Netlink},
};
use sluice_ebpf_common::{Counters, Event};
use sluice_policy::{InterfacePlan, LinkFacts, Mode};
use tracing::{info, warn};

use crate::{
    address_sets::Binding,
    answers::{Answer, Answers},
    attempt::{Attempted, Foreign, Refused, attempt, refused, with_revision},
    facts,
    marking::Marking,
    proof::{Proof, Verified},
    step::{self, Cause, Observed, Step},
};

/// What runs on an interface and what should.
#[derive(Debug, Default)]
pub struct Interface {
    /// What runs, if anything of ours does.
    pub attachment: Option<Attachment>,
    /// The mode in which it runs, read back.
    pub mode: Option<AttachMode>,
    /// The plan that is in force; of an adopted attachment it is known once it is the wanted one.
    pub in_force: Option<InterfacePlan>,
    /// The plan that should be in force.
    pub wanted: Option<InterfacePlan>,
    /// Whether it was seen to run.
    pub proof: Option<Proof>,
    /// Who holds the interface instead of us.
    pub foreign: Option<Foreign>,
    /// The last step that failed, in words.
    pub failure: Option<String>,
    /// Whether programs on devices above were taken off once so that this one could be attached.
    pub made_way: bool,
    /// What applies the marks of packets.
    marking: Marking,
    /// Packets that had gone without their mark when the program in force was loaded.
    unmarked_before: u64,
    link: Option<Link>,
    next_look: Option<Instant>,
    /// Whether this process has asked: what an earlier one was told may no longer hold.
    tried: bool,
    /// Whether what an earlier run left could not be read yet.
    not_adopted: bool,
}

/// What the steps need of the node.
pub struct Context<'a> {
    /// Where pins live.
    pub pins: &'a PinFolder,
    /// Reads links back.
    pub netlink: &'a Netlink,
    /// What interfaces answered.
    pub answers: &'a mut Answers,
    /// How the rules refer to address sets.
    pub binding: &'a Binding,
    /// What made us look.
    pub cause: Cause,
}

impl Interface {
    /// An interface on which an earlier run left something.
    pub fn adopted(result: Result<Attachment, Error>) -> Self {
        let interface = Self { marking: Marking::in_doubt(), ..Self::default() };
        match result {
            Ok(attachment) => Self { attachment: Some(attachment), ..interface },
            Err(error) => Self { failure: Some(error.to_string()), not_adopted: true, ..interface },
        }
    }

    /// The link as it was last read.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// Whether the rules in force are those that should be.
    pub fn is_programmed(&self) -> bool {
        let in_force = self.in_force.as_ref().map(|plan| &plan.rules);
        self.mode.is_some() && in_force == self.wanted.as_ref().map(|plan| &plan.rules) && !self.lacks_marks()
    }

    /// Whether packets are marked and nothing applies the marks.
    fn lacks_marks(&self) -> bool {
        self.in_force.as_ref().is_some_and(InterfacePlan::needs_marks) && !self.marking.is_attached()
    }

    /// Packets that went on without their mark since the program in force was loaded.
    pub fn unmarked(&self, counters: &Counters) -> u64 {
        unmarked(counters).saturating_sub(self.unmarked_before)
    }

    /// What to do next for `plan`.
    pub fn step(&mut self, answers: &Answers, plan: &InterfacePlan, facts: &LinkFacts, cause: Cause) -> Step {
        let answer = answers.get(plan.ifindex);
        step::next(self.observe(), plan.mode, answer, self.tried, facts, cause)
    }

    /// Takes in a reading of the link.
    pub fn see(&mut self, link: &Link, cause: Cause) {
        let disturbed = self.link.as_ref().is_some_and(|before| disturbs(before, link));
        self.link = Some(link.clone());
        let Some(proof) = &mut self.proof else { return };
        if disturbed {
            proof.reopen();
        } else if cause == Cause::Links {
            // It may have been a change of rings, which is no fact of ours.
            proof.doubt();
        }
        self.plan_look();
    }

    fn observe(&mut self) -> Observed {
        let ids = self.attachment.as_ref().map(Attachment::ids);
        let observed = match (ids, &self.link) {
            (None, _) => Observed::Nothing,
            (Some(Ok(ids)), Some(_)) if !ids.attached => Observed::Detached,
            (Some(Ok(ids)), Some(link)) => {
                facts::mode_in_force(link, ids.program).map_or(Observed::Hidden, Observed::Runs)
            }
            (Some(_), _) => Observed::Hidden,
        };
        self.mode = if let Observed::Runs(mode) = observed { Some(mode) } else { None };
        observed
    }

    /// Brings `plan` into force, of which `link` and `facts` are this moment's.
    pub async fn ensure(&mut self, context: &mut Context<'_>, plan: InterfacePlan, facts: &LinkFacts) {
        self.wanted = Some(plan.clone());
        let result = self.try_ensure(context, plan, facts).await;
        if let Err(error) = &result {
            warn!(interface = %facts.name, "a step failed: {error}");
        }
        self.failure = result.err().map(|error| error.to_string());
        if self.proof.is_none() {
            self.prove_anew();
        }
    }

    async fn try_ensure(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        facts: &LinkFacts,
    ) -> Result<(), Error> {
        if self.not_adopted {
            self.attachment = Attachment::adopt(context.pins, plan.ifindex)?;
            self.not_adopted = false;
        }
        let (ifindex, marks) = (plan.ifindex, plan.needs_marks());
        let step = self.step(context.answers, &plan, facts, context.cause);
        if marks && matches!(step, Step::Update | Step::ChangeMode { .. }) {
            self.marking.ensure(context.pins, ifindex)?;
        }
        match step {
            Step::Update => self.update(context, plan, facts)?,
            Step::ChangeMode { from, to } => self.change_mode(context, plan, facts, from, to).await?,
            Step::Attach => self.attach(context, plan, facts).await?,
            Step::Refused => {}
            Step::LookAgain => self.look_again(context, plan, facts).await?,
        }
        // Only what is certainly out of force marks no more.
        if !marks && (self.attachment.is_none() || self.is_programmed()) {
            self.marking.remove(context.pins, ifindex)?;
        }
        Ok(())
    }

    /// The link has an interface of this index, but the interface did not show its program. If a second
    /// reading says the same, it is another interface: one of another network namespace, to which ours
    /// was moved, or somebody detached the link in between.
    async fn look_again(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        facts: &LinkFacts,
    ) -> Result<(), Error> {
        if !self.read_link(context).await? || self.mode.is_some() {
            return Ok(());
        }
        self.attach(context, plan, facts).await
    }

    fn update(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        facts: &LinkFacts,
    ) -> Result<(), Error> {
        self.foreign = None;
        if plan.mode != Mode::Auto || self.mode == Some(AttachMode::Native) {
            context.answers.set(plan.ifindex, Some(Answer::new(plan.mode, true, None, facts)));
        }
        let Some(attachment) = &mut self.attachment else { return Ok(()) };
        attachment.pin_again()?;
        let result = with_revision(&plan, context.binding, |revision| {
            let runs_already = attachment.runs(revision);
            attachment.swap(revision).map(|()| runs_already)
        });
        if let Ok(true) = result {
            self.in_force = Some(plan);
            return Ok(());
        }
        if matches!(result, Ok(_) | Err(Error::Leftover { .. })) {
            info!(interface = %plan.name, revision = %plan.digest(), "swapped in");
            self.in_force = Some(plan);
            self.prove_anew();
        }
        result.map(drop)
    }

    async fn change_mode(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        facts: &LinkFacts,
        from: AttachMode,
        to: AttachMode,
    ) -> Result<(), Error> {
        let Some(attachment) = &mut self.attachment else { return Ok(()) };
        let result =
            with_revision(&plan, context.binding, |revision| attachment.change_mode(from, to, revision));
        let refused = match result {
            Ok(()) => None,
            Err(error) => {
                let Some(refused) = refused(&error, to, facts) else {
                    self.attachment = Attachment::adopt(context.pins, plan.ifindex)?;
                    return Err(error);
                };
                Some(refused)
            }
        };
        self.read_link(context).await?;
        let by_name_in_vain = refused.is_some() && plan.mode != Mode::Auto;
        if by_name_in_vain {
            // A mode by name is that mode or nothing.
            self.take_off()?;
        }
        note(context, Answer::new(plan.mode, !by_name_in_vain, refused, facts));
        if self.attachment.is_some() {
            info!(interface = %facts.name, mode = self.mode_name(), "attached anew");
            self.in_force = Some(plan);
            self.prove_anew();
        }
        Ok(())
    }

    async fn attach(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        facts: &LinkFacts,
    ) -> Result<(), Error> {
        // What is left of a link that lost its interface must not stand in the way.
        self.take_off()?;
        self.tried = true;
        if !self.read_link(context).await? {
            return Ok(());
        }
        self.foreign = self.link.as_ref().and_then(Foreign::on);
        if self.foreign.is_none() {
            match attempt(context.pins, &mut self.marking, &plan, context.binding, facts)? {
                Attempted::Attached { attachment, refused } => {
                    self.attachment = Some(attachment);
                    self.in_force = Some(plan.clone());
                    note(context, Answer::new(plan.mode, true, refused, facts));
                    self.read_link(context).await?;
                    info!(interface = %facts.name, mode = self.mode_name(), "attached");
                    self.prove_anew();
                    return Ok(());
                }
                Attempted::Refused(refused) => {
                    note(context, Answer::new(plan.mode, false, refused, facts));
                }
            }
            // Somebody may have been faster than we.
            let is_there = self.read_link(context).await?;
            self.foreign = self.link.as_ref().filter(|_| is_there).and_then(Foreign::on);
        }
        if let Some(foreign) = &self.foreign {
            let refused: Refused = foreign.refusal(&facts.name);
            note(context, Answer::new(plan.mode, false, Some(refused), facts));
        }
        Ok(())
    }

    /// Reads the link anew, and the mode with it. False if the interface has gone; its event follows.
    async fn read_link(&mut self, context: &Context<'_>) -> Result<bool, Error> {
        let ifindex = self.wanted.as_ref().map_or(0, |plan| plan.ifindex);
        let link = context.netlink.link(ifindex).await?;
        let is_there = link.is_some();
        self.link = link.or(self.link.take());
        self.observe();
        Ok(is_there)
    }

    fn mode_name(&self) -> &'static str {
        self.mode.map_or("", AttachMode::name)
    }

    /// Goes on with what an earlier run left, while it is not known whether a policy wants it.
    pub fn keep(&mut self) {
        self.observe();
        if self.proof.is_none() {
            self.prove_anew();
        }
    }

    /// Detaches, by decision.
    pub fn take_off(&mut self) -> Result<(), Error> {
        if let Some(attachment) = &self.attachment {
            attachment.remove()?;
        }
        self.marking.take_off()?;
        self.attachment = None;
        self.mode = None;
        self.in_force = None;
        self.proof = None;
        self.next_look = None;
        Ok(())
    }

    fn prove_anew(&mut self) {
        let counting = self.attachment.as_ref().filter(|attachment| attachment.counts());
        let seen = counting.and_then(|attachment| attachment.counters().ok());
        self.unmarked_before = seen.as_deref().map_or(0, unmarked);
        self.proof = seen.map(|counters| Proof::start(counters.packets()));
        self.plan_look();
    }

    fn plan_look(&mut self) {
        let delay = self.proof.as_ref().and_then(Proof::next_look);
        self.next_look = delay.map(|delay| Instant::now() + delay);
    }

    /// Looks once whether the program runs, and in which mode. `link` was read just now.
    pub fn look(&mut self, link: &Link) -> Result<(), Error> {
        self.see(link, Cause::Timer);
        self.observe();
        if let Some(attachment) = &mut self.attachment {
            attachment.pin_again()?;
        }
        self.marking.look()?;
        if let (Some(attachment), Some(proof)) = (&self.attachment, &mut self.proof) {
            let before = proof.verified();
            proof.look(attachment.counters()?.packets(), link.rx_packets);
            if before != Verified::Bypassed && proof.verified() == Verified::Bypassed {
                warn!(interface = %link.name, "bypassed: packets arrive and the program does not run");
            }
            self.plan_look();
        }
        Ok(())
    }

    /// When to look next at the proof; `None` if no look is to come.
    pub fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    /// Whether something of ours should run and the kernel does not show that it does.
    pub fn is_lost(&self) -> bool {
        let without_marks = self.failure.is_none() && self.lacks_marks();
        self.attachment.is_some() && (self.mode.is_none() || without_marks)
    }
}

fn unmarked(counters: &Counters) -> u64 {
    counters.events[Event::MarkFailed as usize].packets
}

/// Changes after which some drivers go on without the program that they say is attached.
fn disturbs(before: &Link, now: &Link) -> bool {
    (before.mtu, before.up, before.channels) != (now.mtu, now.up, now.channels)
}

/// Keeps the answer for status, and logs its reason when it is a new one.
fn note(context: &mut Context<'_>, answer: Answer) {
    let ifindex = answer.facts.ifindex;
    let known = context.answers.get(ifindex).is_some_and(|known| known.reason == answer.reason);
    if !answer.reason.is_empty() && !known {
        warn!(interface = %answer.facts.name, reason = %answer.reason, "not as asked for: {}", answer.message);
    }
    context.answers.set(ifindex, Some(answer));
}
