//! One interface: what runs on it, what should, and the steps from one to the other. An error leaves
//! what runs in place.

use std::time::Duration;

use sluice_dataplane::{
    AttachMode, Error,
    attachment::Attachment,
    bpffs::PinFolder,
    links::{Link, Netlink},
};
use sluice_policy::{InterfacePlan, LinkFacts, Mode, attach};
use tracing::{info, warn};

use crate::{
    attempt::{Attempted, Foreign, Refused, attempt, with_revision},
    facts,
    proof::Proof,
    refusals::{Note, Refusals},
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
    /// The last step that failed, in words; what runs went on.
    pub failure: Option<String>,
    link: Option<Link>,
    /// Whether this process has tried to attach: what an earlier one was told may no longer hold.
    tried: bool,
}

/// What the steps need of the node.
pub struct Context<'a> {
    /// Where pins live.
    pub pins: &'a PinFolder,
    /// Reads links back.
    pub netlink: &'a Netlink,
    /// Why interfaces refused.
    pub refusals: &'a mut Refusals,
}

impl Interface {
    /// An interface on which an earlier run left a program.
    pub fn adopted(attachment: Attachment) -> Self {
        Self { attachment: Some(attachment), ..Self::default() }
    }

    /// The link as it was last read.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// Brings `plan` into force.
    pub async fn ensure(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        link: &Link,
        facts: &LinkFacts,
    ) {
        let disturbed = self.link.as_ref().is_some_and(|before| disturbs(before, link));
        self.link = Some(link.clone());
        self.wanted = Some(plan.clone());
        let result = self.try_ensure(context, plan, link, facts).await;
        if let Err(error) = &result {
            warn!(interface = %link.name, %error, "a step failed; what is in force stays");
        }
        self.failure = result.err().map(|error| error.to_string());
        if disturbed || self.proof.is_none() {
            self.prove_anew();
        }
    }

    /// Goes on with what an earlier run left, while it is not known whether a policy wants it.
    pub fn keep(&mut self, link: &Link) -> Result<(), Error> {
        self.link = Some(link.clone());
        if let Some(attachment) = &self.attachment {
            self.mode = facts::mode_in_force(link, attachment.ids()?.program);
        }
        if self.proof.is_none() {
            self.prove_anew();
        }
        Ok(())
    }

    async fn try_ensure(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        link: &Link,
        facts: &LinkFacts,
    ) -> Result<(), Error> {
        let ran = self.attachment.is_some();
        self.take_off_if_unfit(context, plan.mode, link, facts)?;
        if self.attachment.is_some() {
            return self.swap(plan);
        }
        // What was read before shows our own program still.
        let now = if ran { context.netlink.link(link.ifindex).await? } else { Some(link.clone()) };
        let Some(link) = &now else { return Ok(()) };
        self.foreign = Foreign::on(link);
        if let Some(foreign) = &self.foreign {
            note(context, plan.mode, facts, Some(foreign.refusal(link)));
            return Ok(());
        }
        let known = context.refusals.get(link.ifindex);
        if self.tried && known.is_some_and(|known| known.still_holds(plan.mode, facts)) {
            return Ok(());
        }
        self.attach(context, plan, link, facts).await
    }

    /// Takes our program off where it runs in a mode that is not asked for, or no longer runs at all.
    fn take_off_if_unfit(
        &mut self,
        context: &mut Context<'_>,
        asked: Mode,
        link: &Link,
        facts: &LinkFacts,
    ) -> Result<(), Error> {
        let Some(attachment) = &self.attachment else { return Ok(()) };
        let ids = attachment.ids()?;
        let mode = ids.attached.then(|| facts::mode_in_force(link, ids.program)).flatten();
        let fits = match (asked, mode) {
            (Mode::Auto | Mode::Native, Some(AttachMode::Native))
            | (Mode::Generic, Some(AttachMode::Generic)) => {
                note(context, asked, facts, None);
                true
            }
            // Generic may have been what was asked for before: then nobody has asked for native yet.
            (Mode::Auto, Some(AttachMode::Generic)) => {
                let refused = context.refusals.get(link.ifindex);
                refused.is_some_and(|refused| !attach::retry_native(&refused.facts, facts))
            }
            _ => false,
        };
        if fits {
            self.mode = mode;
            return Ok(());
        }
        info!(interface = %link.name, in_force = mode.map_or("", AttachMode::name), "attaching anew");
        self.take_off()
    }

    fn swap(&mut self, plan: InterfacePlan) -> Result<(), Error> {
        let Some(attachment) = &mut self.attachment else { return Ok(()) };
        let digest = plan.digest();
        let runs_already = attachment.runs(&digest);
        if !runs_already {
            with_revision(&plan, |revision| attachment.swap(revision))?;
            info!(interface = %plan.name, revision = %digest, "swapped in");
        }
        self.in_force = Some(plan);
        if !runs_already {
            self.prove_anew();
        }
        Ok(())
    }

    async fn attach(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        link: &Link,
        facts: &LinkFacts,
    ) -> Result<(), Error> {
        self.tried = true;
        let attempted = attempt(context, &plan, facts)?;
        // Read again: what is in force is what the kernel says, and somebody may have been faster than we.
        let now = context.netlink.link(link.ifindex).await?;
        match attempted {
            Attempted::Attached { attachment, refused } => {
                let program = attachment.ids()?.program;
                self.mode = now.as_ref().and_then(|link| facts::mode_in_force(link, program));
                self.link = now.or(self.link.take());
                self.attachment = Some(attachment);
                note(context, plan.mode, facts, refused);
                info!(interface = %link.name, mode = self.mode.map_or("", AttachMode::name), "attached");
                self.in_force = Some(plan);
                self.prove_anew();
            }
            Attempted::Refused(refused) => {
                self.foreign = now.as_ref().and_then(Foreign::on);
                let foreign = self.foreign.as_ref().map(|foreign| foreign.refusal(link));
                note(context, plan.mode, facts, foreign.or(refused));
            }
        }
        Ok(())
    }

    /// Detaches, by decision.
    pub fn take_off(&mut self) -> Result<(), Error> {
        if let Some(attachment) = &self.attachment {
            attachment.remove()?;
        }
        self.attachment = None;
        self.mode = None;
        self.in_force = None;
        self.proof = None;
        Ok(())
    }

    fn prove_anew(&mut self) {
        let seen = self.attachment.as_ref().and_then(|attachment| attachment.counters().ok());
        let received = self.link.as_ref().map_or(0, |link| link.rx_packets);
        self.proof = seen.map(|counters| Proof::start(counters.packets(), received));
    }

    /// Looks once whether the program runs. `link` was read just now.
    pub fn look(&mut self, link: &Link) -> Result<(), Error> {
        if let (Some(attachment), Some(proof)) = (&self.attachment, &mut self.proof) {
            proof.look(attachment.counters()?.packets(), link.rx_packets);
        }
        Ok(())
    }

    /// How long until the next look at the proof; `None` if there is none to come.
    pub fn next_look(&self) -> Option<Duration> {
        self.proof.as_ref().and_then(Proof::next_look)
    }
}

/// Changes after which some drivers go on without the program that they say is attached.
fn disturbs(before: &Link, now: &Link) -> bool {
    (before.mtu, before.up, before.channels) != (now.mtu, now.up, now.channels)
}

/// Keeps the reason for status, and logs it when it is a new one.
fn note(context: &mut Context<'_>, asked: Mode, facts: &LinkFacts, refused: Option<Refused>) {
    let note = refused.map(|refused| Note::new(refused, asked, facts));
    let known = context.refusals.get(facts.ifindex);
    if let Some(note) = note.as_ref().filter(|note| known.is_none_or(|known| known.reason != note.reason)) {
        warn!(interface = %facts.name, reason = %note.reason, "not as asked for: {}", note.message);
    }
    if let Err(error) = context.refusals.set(facts.ifindex, note) {
        warn!(%error, "the reason will be forgotten at the next restart");
    }
}
