//! The node: the one owner of everything that this process does to the kernel. Others send it messages.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use sluice_dataplane::{
    Error,
    attachment::Attachment,
    bpffs::PinFolder,
    links::{Link, Netlink},
};
use sluice_policy::{LinkFacts, NodePlan, compile};
use tracing::{info, warn};

use crate::{
    facts,
    interface::{Context, Interface},
    policy_directory::Snapshot,
    refusals::Refusals,
};

/// A foreign program can leave an interface without an event; so while one holds us up, we ask again.
const RETRY: Duration = Duration::from_secs(30);

/// The state of the node.
pub struct Node {
    pins: PinFolder,
    netlink: Netlink,
    /// Why interfaces refused.
    pub refusals: Refusals,
    /// By interface index.
    pub interfaces: BTreeMap<u32, Interface>,
    /// What the policy directory last gave.
    pub snapshot: Snapshot,
    /// What was last compiled.
    pub plan: NodePlan,
    /// What is wrong with the node as a whole, in words.
    pub problem: Option<String>,
}

impl Node {
    /// Takes over what earlier runs left pinned.
    pub fn open(pin_path: &Path, state_dir: &Path, netlink: Netlink) -> Result<Self, Error> {
        let pins = PinFolder::open(pin_path)?;
        let mut interfaces = BTreeMap::new();
        for ifindex in pins.interfaces()? {
            if let Some(attachment) = Attachment::adopt(&pins, ifindex)? {
                info!(ifindex, revision = attachment.digest(), "adopted");
                interfaces.insert(ifindex, Interface::adopted(attachment));
            }
        }
        Ok(Self {
            pins,
            netlink,
            refusals: Refusals::open(state_dir),
            interfaces,
            snapshot: Snapshot::default(),
            plan: NodePlan::default(),
            problem: None,
        })
    }

    /// Brings the node to what the policies ask of it now.
    pub async fn reconcile(&mut self) {
        let links = match self.netlink.links().await {
            Ok(links) => links,
            Err(error) => {
                warn!(%error, "cannot read links: everything stays as it is");
                self.problem = Some(format!("cannot read links: {error}"));
                return;
            }
        };
        self.problem = None;
        let facts: Vec<LinkFacts> = links.iter().map(|link| facts::of(link, &links)).collect();
        self.plan = compile(&self.snapshot.policies, &facts);
        self.take_off_unwanted(&links);
        for plan in self.plan.interfaces.clone() {
            let (Some(link), Some(facts)) = (
                links.iter().find(|link| link.ifindex == plan.ifindex),
                facts.iter().find(|facts| facts.ifindex == plan.ifindex),
            ) else {
                continue;
            };
            let interface = self.interfaces.entry(plan.ifindex).or_default();
            let mut context =
                Context { pins: &self.pins, netlink: &self.netlink, refusals: &mut self.refusals };
            interface.ensure(&mut context, plan, link, facts).await;
        }
    }

    /// Takes off what no policy wants. First of all, since the kernel refuses a program on a device whose
    /// port or master has one.
    fn take_off_unwanted(&mut self, links: &[Link]) {
        let wanted: BTreeSet<u32> = self.plan.interfaces.iter().map(|plan| plan.ifindex).collect();
        let unsure = self.may_miss_policies();
        for (ifindex, interface) in &mut self.interfaces {
            if wanted.contains(ifindex) {
                continue;
            }
            let link = links.iter().find(|link| link.ifindex == *ifindex);
            if let Some(link) = link.filter(|_| unsure && interface.wanted.is_none()) {
                if let Err(error) = interface.keep(link) {
                    warn!(ifindex, %error, "cannot read what runs");
                }
                continue;
            }
            match interface.take_off() {
                Ok(()) => info!(ifindex, "taken off: no policy wants it"),
                Err(error) => {
                    warn!(ifindex, %error, "cannot take off");
                    interface.failure = Some(error.to_string());
                }
            }
            if let Err(error) = self.refusals.set(*ifindex, None) {
                warn!(%error, "cannot forget a refusal");
            }
        }
        self.interfaces
            .retain(|ifindex, interface| wanted.contains(ifindex) || interface.attachment.is_some());
    }

    /// Whether a policy that wants an adopted attachment may be one that we could not read.
    fn may_miss_policies(&self) -> bool {
        self.snapshot.directory_problem.is_some()
            || self.snapshot.files.iter().any(|file| !file.problems.is_empty())
    }

    /// Looks whether the programs run, where that is not known yet.
    pub async fn prove(&mut self) {
        for (ifindex, interface) in &mut self.interfaces {
            if interface.next_look().is_some() {
                look(&self.netlink, *ifindex, interface).await;
            }
        }
    }

    /// The same for a status: everything that is not proven is looked at now.
    pub async fn prove_all(&mut self) {
        for (ifindex, interface) in &mut self.interfaces {
            look(&self.netlink, *ifindex, interface).await;
        }
    }

    /// How long the owner may sleep before it must look or ask again; `None`: until something happens.
    pub fn next_look(&self) -> Option<Duration> {
        self.interfaces.values().filter_map(Interface::next_look).min()
    }

    /// When to try again where somebody else's program holds an interface or a step failed.
    pub fn next_retry(&self) -> Option<Duration> {
        let unsettled = |(ifindex, interface): (&u32, &Interface)| {
            let transient = self.refusals.get(*ifindex).is_some_and(|note| note.transient);
            interface.failure.is_some() || (interface.attachment.is_none() && transient)
        };
        (self.problem.is_some() || self.interfaces.iter().any(unsettled)).then_some(RETRY)
    }
}

async fn look(netlink: &Netlink, ifindex: u32, interface: &mut Interface) {
    match netlink.link(ifindex).await {
        Ok(Some(link)) => {
            if let Err(error) = interface.look(&link) {
                warn!(ifindex, %error, "cannot read counters");
            }
        }
        Ok(None) => {}
        Err(error) => warn!(ifindex, %error, "cannot read the link"),
    }
}
