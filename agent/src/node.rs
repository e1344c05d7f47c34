//! The node: the one owner of everything that this process does to the kernel. Others send it messages.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

use sluice_dataplane::{
    Error,
    attachment::Attachment,
    bpffs::PinFolder,
    links::{Link, Netlink, Routing},
};
use sluice_policy::{InterfacePlan, LinkFacts, Node as PolicyNode, NodeFacts, NodePlan, compile};
use tracing::{info, warn};

use crate::{
    address_sets::{AddressSets, Binding},
    answers::Answers,
    facts,
    interface::{Context, Interface},
    policy_directory::Snapshot,
    step::{Cause, Step},
};

/// Some answers change without an event: somebody else's program goes, memory is freed. So while one
/// holds us up, we ask again.
const RETRY: Duration = Duration::from_secs(30);

/// The state of the node.
pub struct Node {
    pins: PinFolder,
    netlink: Netlink,
    /// What interfaces answered.
    pub answers: Answers,
    /// By interface index.
    pub interfaces: BTreeMap<u32, Interface>,
    /// What the policy directory last gave.
    pub snapshot: Snapshot,
    /// What the node talks to. The owner gives it name servers and API servers; the rest is read anew at each
    /// reconcile.
    pub facts: NodeFacts,
    routing: Routing,
    /// The address sets that rules read.
    pub address_sets: AddressSets,
    /// What was last compiled.
    pub plan: NodePlan,
    problem: Option<String>,
    retry: Option<Instant>,
    /// What is pinned cannot outlive us, though it should.
    private_pins: Option<String>,
}

impl Node {
    /// Takes over what earlier runs left pinned.
    pub fn open(pin_path: &Path, state_dir: &Path, netlink: Netlink) -> Result<Self, Error> {
        let pins = PinFolder::open(pin_path)?;
        let private_pins = pins.may_be_private().then(|| private_pins(pin_path));
        if let Some(problem) = &private_pins {
            warn!("{problem}");
        }
        let mut interfaces = BTreeMap::new();
        for ifindex in pins.interfaces()? {
            let Some(adopted) = Attachment::adopt(&pins, ifindex).transpose() else { continue };
            match &adopted {
                Ok(attachment) => info!(ifindex, revision = attachment.digest(), "adopted"),
                Err(error) => warn!(ifindex, "cannot adopt what is pinned: {error}"),
            }
            interfaces.insert(ifindex, Interface::adopted(adopted));
        }
        let address_sets = AddressSets::open(&pins)?;
        Ok(Self {
            pins,
            netlink,
            answers: Answers::open(state_dir),
            interfaces,
            snapshot: Snapshot::default(),
            facts: NodeFacts::default(),
            routing: Routing::default(),
            address_sets,
            plan: NodePlan::default(),
            problem: None,
            retry: None,
            private_pins,
        })
    }

    /// What is wrong with the node as a whole, in words.
    pub fn problems(&self) -> Vec<String> {
        let of_policies = [&self.snapshot.directory_problem, &self.snapshot.store_problem];
        of_policies.into_iter().chain([&self.problem, &self.private_pins]).flatten().cloned().collect()
    }

    /// Reads addresses and routes. True if they are others than before.
    pub async fn read_routing(&mut self) -> bool {
        match self.netlink.routing().await {
            Ok(routing) => std::mem::replace(&mut self.routing, routing) != self.routing,
            Err(error) => {
                // Only warnings are made of it: the next change brings another attempt.
                warn!("cannot read addresses and routes: {error}; what was known of them stays");
                false
            }
        }
    }

    /// Brings the node to what the policies ask of it now.
    pub async fn reconcile(&mut self, cause: Cause) {
        match self.netlink.links().await {
            Ok(links) => {
                self.problem = None;
                self.bring_to(&links, cause).await;
            }
            Err(error) => {
                warn!("cannot read links: {error}; everything stays as it is");
                self.problem = Some(format!("cannot read links: {error}"));
            }
        }
        let unsettled = self.is_unsettled();
        // A deadline that stands is kept: events must not put it off.
        self.retry = self.retry.filter(|at| *at > Instant::now()).filter(|_| unsettled);
        self.retry = self.retry.or_else(|| unsettled.then(|| Instant::now() + RETRY));
    }

    async fn bring_to(&mut self, links: &[Link], cause: Cause) {
        let facts: BTreeMap<u32, LinkFacts> =
            links.iter().map(|link| (link.ifindex, facts::of(link, links))).collect();
        facts::complete(&mut self.facts, links, &self.routing);
        let node = PolicyNode {
            links: facts.values().cloned().collect(),
            sets: self.address_sets.facts(&self.snapshot.sets, &self.facts),
            facts: self.facts.clone(),
        };
        self.plan = compile(&self.snapshot.policies, &node);
        // New lists come before the programs that read them, and old ones go after them.
        self.bring_address_sets();
        self.see(links, cause);
        self.take_off_unwanted(links);
        self.answers.retain(|ifindex| facts.contains_key(&ifindex));
        for plan in self.plan.interfaces.clone() {
            if let Some(facts) = facts.get(&plan.ifindex) {
                self.ensure(plan, facts, links, cause).await;
            }
        }
        self.bring_address_sets();
    }

    /// Brings the table of address sets to what they hold now, for the lists that rules read or shall read.
    fn bring_address_sets(&mut self) {
        let in_force = self.interfaces.values().filter_map(|interface| interface.in_force.as_ref());
        let mut lists: BTreeSet<Vec<String>> = in_force.flat_map(InterfacePlan::lists).collect();
        lists.extend(self.plan.lists.iter().cloned());
        // Large sets take a while, in which others get their turn.
        tokio::task::block_in_place(|| self.address_sets.bring_to(&self.snapshot.sets, &lists));
    }

    fn see(&mut self, links: &[Link], cause: Cause) {
        for plan in &self.plan.interfaces {
            self.interfaces.entry(plan.ifindex).or_default();
        }
        for link in links {
            if let Some(interface) = self.interfaces.get_mut(&link.ifindex) {
                interface.see(link, cause);
            }
        }
    }

    async fn ensure(&mut self, plan: InterfacePlan, facts: &LinkFacts, links: &[Link], cause: Cause) {
        if !self.make_way(&plan, facts, links, cause) {
            return;
        }
        let Some(binding) = self.bind(&plan) else { return };
        let Some(interface) = self.interfaces.get_mut(&plan.ifindex) else { return };
        let (pins, netlink, answers) = (&self.pins, &self.netlink, &mut self.answers);
        let mut context = Context { pins, netlink, answers, binding: &binding, cause };
        interface.ensure(&mut context, plan, facts).await;
    }

    /// The kernel refuses to attach to a device while a device above it has a program. Ours above are
    /// taken off first, once, and follow right after. Another's stands in the way: then what runs stays.
    fn make_way(&mut self, plan: &InterfacePlan, facts: &LinkFacts, links: &[Link], cause: Cause) -> bool {
        let above: Vec<u32> =
            above(links, facts).filter(|link| link.xdp.is_some()).map(|link| link.ifindex).collect();
        let Some(interface) = self.interfaces.get_mut(&plan.ifindex) else { return false };
        let step = interface.step(&self.answers, plan, facts, cause);
        // Settled: when the mode is to change again, way may be made again.
        interface.made_way &= step != Step::Update;
        if above.is_empty() || !matches!(step, Step::Attach | Step::ChangeMode { .. }) {
            return true;
        }
        let made_way = std::mem::replace(&mut interface.made_way, true);
        let ours =
            |ifindex: &u32| self.interfaces.get(ifindex).is_some_and(|above| above.attachment.is_some());
        if made_way || !above.iter().all(ours) {
            // Attaching is refused with a reason; a change of mode would lose what runs.
            return step == Step::Attach || self.hold(plan);
        }
        above.iter().all(|ifindex| self.take_off(*ifindex))
    }

    /// Without all of its lists a program would judge wrongly: then what runs stays.
    fn bind(&mut self, plan: &InterfacePlan) -> Option<Binding> {
        let binding = self.address_sets.binding(plan);
        let interface = self.interfaces.get_mut(&plan.ifindex)?;
        binding
            .map_err(|problem| {
                interface.wanted = Some(plan.clone());
                interface.failure = Some(problem);
            })
            .ok()
    }

    fn hold(&mut self, plan: &InterfacePlan) -> bool {
        if let Some(interface) = self.interfaces.get_mut(&plan.ifindex) {
            interface.wanted = Some(plan.clone());
            interface.failure = Some("the mode cannot change while a device above has a program".to_owned());
        }
        false
    }

    fn take_off_unwanted(&mut self, links: &[Link]) {
        let wanted: BTreeSet<u32> = self.plan.interfaces.iter().map(|plan| plan.ifindex).collect();
        let unsure = self.may_miss_policies();
        let unwanted: Vec<u32> =
            self.interfaces.keys().copied().filter(|ifindex| !wanted.contains(ifindex)).collect();
        for ifindex in unwanted {
            let Some(interface) = self.interfaces.get_mut(&ifindex) else { continue };
            if unsure && interface.wanted.is_none() && interface.link().is_some() {
                interface.keep();
                continue;
            }
            let name = interface.link().map(|link| link.name.clone()).unwrap_or_default();
            let is_there = links.iter().any(|link| link.ifindex == ifindex);
            if self.take_off(ifindex) {
                let why = if is_there { "no policy wants it" } else { "the interface has gone" };
                info!(interface = %name, ifindex, "taken off: {why}");
                self.interfaces.remove(&ifindex);
                self.answers.set(ifindex, None);
            }
        }
    }

    fn take_off(&mut self, ifindex: u32) -> bool {
        let Some(interface) = self.interfaces.get_mut(&ifindex) else { return true };
        let result = interface.take_off();
        if let Err(error) = &result {
            warn!(ifindex, "cannot take off: {error}");
            interface.failure = Some(error.to_string());
        }
        result.is_ok()
    }

    /// Whether a policy that wants an adopted attachment may be one that we could not read.
    fn may_miss_policies(&self) -> bool {
        self.snapshot.directory_problem.is_some()
            || self.snapshot.files.iter().any(|file| !file.problems.is_empty())
    }

    /// Looks whether the programs run: those that are due, or for a status all. True if one is lost.
    pub async fn look(&mut self, all: bool) -> bool {
        let now = Instant::now();
        let is_due = |interface: &Interface| all || interface.next_look().is_some_and(|at| at <= now);
        if !self.interfaces.values().any(is_due) {
            return false;
        }
        let links = match self.netlink.links().await {
            Ok(links) => links,
            Err(error) => {
                warn!("cannot read links: {error}");
                return false;
            }
        };
        for link in &links {
            let Some(interface) = self.interfaces.get_mut(&link.ifindex) else { continue };
            if is_due(interface)
                && let Err(error) = interface.look(link)
            {
                warn!(interface = %link.name, "cannot read counters: {error}");
            }
        }
        self.interfaces.values().any(Interface::is_lost)
    }

    /// When the owner must look next; `None`: when something happens.
    pub fn next_look(&self) -> Option<Instant> {
        self.interfaces.values().filter_map(Interface::next_look).min()
    }

    /// When to try again where an answer may be another one or a step failed.
    pub fn next_retry(&self) -> Option<Instant> {
        self.retry
    }

    fn is_unsettled(&self) -> bool {
        let unsettled = |(ifindex, interface): (&u32, &Interface)| {
            let transient = self.answers.get(*ifindex).is_some_and(|answer| answer.transient);
            interface.failure.is_some() || (interface.attachment.is_none() && transient)
        };
        let unsettled_sets = !self.address_sets.is_settled();
        self.problem.is_some() || unsettled_sets || self.interfaces.iter().any(unsettled)
    }
}

fn private_pins(pin_path: &Path) -> String {
    let path = pin_path.display();
    format!(
        "there was no BPF file system for {path}, so the agent has mounted one. If this is a mount namespace of its \
         own, what is attached ends with it: enter a network namespace with `nsenter --net`, not with \
         `ip netns exec`, and give a container the machine's /sys/fs/bpf"
    )
}

/// Devices above the one with `facts`: those made on top of it, and the one that it is a port of.
fn above<'a>(links: &'a [Link], facts: &LinkFacts) -> impl Iterator<Item = &'a Link> {
    let (lower, master) = (facts.ifindex, facts.master.as_ref().map(|master| master.ifindex));
    let on_top = move |link: &&Link| link.parent == Some(lower) && link.kind.as_deref() != Some("veth");
    links.iter().filter(move |link| on_top(link) || Some(link.ifindex) == master)
}
