//! One interface: what runs on it, what should, and the steps from one to the other. An error leaves
//! what runs in place.

use std::time::Duration;

use sluice_dataplane::{
    AttachMode, Error,
    attachment::{Attachment, Revision},
    bpffs::PinFolder,
    links::{Link, Netlink},
    program_name,
};
use sluice_policy::{InterfacePlan, LinkFacts, Mode, PlannedRule, attach};
use tracing::{info, warn};

use crate::{
    facts,
    proof::Proof,
    refusals::{Refusals, Refused},
};

/// A program of somebody else on the interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The kernel's id of it.
    pub id: u32,
    /// Its name, if the kernel tells.
    pub name: String,
    /// Native, Generic or Offload.
    pub mode: String,
}

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
        Self {
            attachment: Some(attachment),
            ..Self::default()
        }
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
        let moved = self.link.as_ref().is_some_and(|before| disturbs(before, link));
        self.link = Some(link.clone());
        self.wanted = Some(plan.clone());
        let result = self.try_ensure(context, plan, link, facts).await;
        if let Err(error) = &result {
            warn!(interface = %link.name, %error, "what is in force stays");
        }
        self.failure = result.err().map(|error| error.to_string());
        if moved || self.proof.is_none() {
            self.prove_anew();
        }
    }

    async fn try_ensure(
        &mut self,
        context: &mut Context<'_>,
        plan: InterfacePlan,
        link: &Link,
        facts: &LinkFacts,
    ) -> Result<(), Error> {
        self.take_off_if_unfit(context, plan.mode, link, facts)?;
        if self.attachment.is_some() {
            return self.swap(plan);
        }
        self.foreign = foreign(link);
        if let Some(foreign) = &self.foreign {
            let refusal = held_by(foreign, link);
            note(context, link.ifindex, Some(Refused::new(refusal, facts)));
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
        let Some(attachment) = &self.attachment else {
            return Ok(());
        };
        let ids = attachment.ids()?;
        let mode = ids
            .attached
            .then(|| facts::mode_in_force(link, ids.program))
            .flatten();
        let refused = context.refusals.get(link.ifindex);
        let fits = match (asked, mode) {
            (Mode::Auto | Mode::Native, Some(AttachMode::Native))
            | (Mode::Generic, Some(AttachMode::Generic)) => true,
            (Mode::Auto, Some(AttachMode::Generic)) => {
                !refused.is_some_and(|refused| attach::retry_native(&refused.facts, facts))
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
        let Some(attachment) = &mut self.attachment else {
            return Ok(());
        };
        let digest = plan.digest();
        let runs_already = attachment.runs(&digest);
        if !runs_already {
            with_revision(&plan, &digest, |revision| attachment.swap(revision))?;
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
        let attempts = attach::attempts(plan.mode, facts);
        let mut refused = attempts.skipped.into_iter().next_back();
        for mode in attempts.order {
            match self
                .attach_in(context, &plan, link.ifindex, facts::to_attach(mode))
                .await
            {
                Ok(()) => {
                    info!(interface = %link.name, mode = self.mode.map_or("", AttachMode::name), "attached");
                    self.in_force = Some(plan);
                    self.prove_anew();
                    note(
                        context,
                        link.ifindex,
                        refused.map(|refusal| Refused::new(refusal, facts)),
                    );
                    return Ok(());
                }
                Err(error) => {
                    let Some(errno) = error.attach_errno() else {
                        return Err(error);
                    };
                    refused = Some(attach::refusal(errno, mode, facts));
                }
            }
        }
        // Somebody may have been faster than we between the reading of the link and the attaching.
        let now = context.netlink.link(link.ifindex).await?;
        self.foreign = now.as_ref().and_then(foreign);
        if let Some(foreign) = &self.foreign {
            refused = Some(held_by(foreign, link));
        }
        if let Some(refusal) = &refused {
            warn!(interface = %link.name, reason = refusal.reason, "not attached: {}", refusal.message);
        }
        note(
            context,
            link.ifindex,
            refused.map(|refusal| Refused::new(refusal, facts)),
        );
        Ok(())
    }

    async fn attach_in(
        &mut self,
        context: &Context<'_>,
        plan: &InterfacePlan,
        ifindex: u32,
        mode: AttachMode,
    ) -> Result<(), Error> {
        let digest = plan.digest();
        let attachment = with_revision(plan, &digest, |revision| {
            Attachment::create(context.pins, ifindex, mode, revision)
        })?;
        let program = attachment.ids()?.program;
        self.attachment = Some(attachment);
        let link = context.netlink.link(ifindex).await?;
        self.mode = link.as_ref().and_then(|link| facts::mode_in_force(link, program));
        self.link = link.or(self.link.take());
        Ok(())
    }

    /// Detaches, by decision.
    pub fn take_off(&mut self) -> Result<(), Error> {
        self.mode = None;
        self.in_force = None;
        self.proof = None;
        match self.attachment.take() {
            Some(attachment) => attachment.remove(),
            None => Ok(()),
        }
    }

    fn prove_anew(&mut self) {
        let seen = self
            .attachment
            .as_ref()
            .and_then(|attachment| attachment.counters().ok());
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

/// The name under which a rule counts.
pub fn rule_name(rule: &PlannedRule) -> String {
    format!("{}/{}", rule.policy, rule.rule)
}

fn with_revision<T>(
    plan: &InterfacePlan,
    digest: &str,
    act: impl FnOnce(&Revision<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let rules: Vec<String> = plan.rules.iter().map(rule_name).collect();
    act(&Revision {
        digest,
        rules: &rules,
        tables: &|slots| plan.tables(slots),
    })
}

/// Changes after which some drivers go on without the program that they say is attached.
fn disturbs(before: &Link, now: &Link) -> bool {
    (before.mtu, before.up, before.channels) != (now.mtu, now.up, now.channels)
}

/// The program on `link`, which is none of ours.
fn foreign(link: &Link) -> Option<Foreign> {
    let program = link.xdp.as_ref()?.programs.first()?;
    Some(Foreign {
        id: program.program_id,
        name: program_name(program.program_id).unwrap_or_default(),
        mode: format!("{:?}", program.mode),
    })
}

fn held_by(foreign: &Foreign, link: &Link) -> attach::Refusal {
    let name = if foreign.name.is_empty() {
        String::new()
    } else {
        format!(" ({})", foreign.name)
    };
    attach::Refusal {
        reason: "ForeignProgram",
        message: format!(
            "program {}{name} of somebody else holds {}",
            foreign.id, link.name
        ),
        remedy: Some("remove it with the tool that attached it; Sluice never does".to_owned()),
    }
}

fn note(context: &mut Context<'_>, ifindex: u32, refused: Option<Refused>) {
    if let Err(error) = context.refusals.set(ifindex, refused) {
        warn!(%error, "the reason will be forgotten at the next restart");
    }
}
