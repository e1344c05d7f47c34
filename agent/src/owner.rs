//! The task that owns the node: it waits for something to happen, and does one thing at a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use anyhow::Context as _;
use sluice_dataplane::links::{LinkEvents, RoutingEvents};
use sluice_ipc::v1alpha1::PolicyState;
use sluice_policy::Problem;
use tokio::{
    sync::{mpsc, oneshot},
    time::sleep_until,
};
use tracing::{info, warn};

use crate::{
    node::Node,
    policies,
    policy_directory::{PolicyDirectory, Snapshot},
    report::Report,
    resolvers::Resolvers,
    step::Cause,
};

/// A question to the owner: the answer goes back through the channel.
pub type Question = oneshot::Sender<Report>;

/// What the node itself says.
pub struct Events {
    /// Network devices.
    pub links: LinkEvents,
    /// Addresses and default routes.
    pub routing: RoutingEvents,
    /// Name servers.
    pub resolvers: Resolvers,
}

/// The owner, and what wakes it.
pub struct Owner {
    node: Node,
    directory: PolicyDirectory,
    events: Events,
    questions: mpsc::Receiver<Question>,
    /// What was last logged of each policy.
    logged: BTreeMap<String, PolicyState>,
}

impl Owner {
    /// The owner of `node`.
    pub fn new(
        node: Node,
        directory: PolicyDirectory,
        events: Events,
        questions: mpsc::Receiver<Question>,
    ) -> Self {
        Self { node, directory, events, questions, logged: BTreeMap::new() }
    }

    /// Runs until it is cancelled or cannot watch any more.
    pub async fn run(mut self) -> anyhow::Result<()> {
        self.node.read_routing().await;
        self.read_policies().await;
        loop {
            let (look_at, retry_at) = (self.node.next_look(), self.node.next_retry());
            tokio::select! {
                changed = self.directory.changed() => {
                    changed.context("cannot watch the policy directory")?;
                    self.read_policies().await;
                }
                changed = self.events.links.changed() => {
                    changed.context("cannot watch links")?;
                    self.reconcile(Cause::Links).await;
                }
                changed = self.events.routing.changed() => {
                    changed.context("cannot watch addresses and routes")?;
                    if self.node.read_routing().await {
                        self.reconcile(Cause::Facts).await;
                    }
                }
                changed = self.events.resolvers.changed() => {
                    changed.context("cannot watch the name servers")?;
                    if self.events.resolvers.read() != self.node.facts.resolvers {
                        self.reconcile(Cause::Facts).await;
                    }
                }
                () = reached(retry_at) => self.reconcile(Cause::Timer).await,
                () = reached(look_at) => self.look(false).await,
                question = self.questions.recv() => {
                    let Some(question) = question else { return Ok(()) };
                    self.look(true).await;
                    // Whoever asked may have gone away meanwhile; nobody is left to be told.
                    drop(question.send(Report::of(&self.node)));
                }
            }
        }
    }

    async fn look(&mut self, all: bool) {
        if self.node.look(all).await {
            // No event tells that somebody has detached a link. This is none: nothing else is in doubt.
            self.reconcile(Cause::Timer).await;
        }
    }

    async fn read_policies(&mut self) {
        let snapshot = self.directory.read();
        log_new_problems(&self.node.snapshot, &snapshot);
        self.node.snapshot = snapshot;
        self.reconcile(Cause::Policies).await;
    }

    async fn reconcile(&mut self, cause: Cause) {
        self.node.facts.resolvers = self.events.resolvers.read();
        self.node.reconcile(cause).await;
        let now: BTreeMap<String, PolicyState> = policies::states(&self.node).collect();
        for (policy, state) in now.iter().filter(|(policy, state)| self.logged.get(*policy) != Some(*state)) {
            info!(%policy, state = state.name(), "policy");
        }
        for policy in self.logged.keys().filter(|policy| !now.contains_key(*policy)) {
            info!(%policy, "policy removed");
        }
        self.logged = now;
    }
}

/// A generated directory can be wrong in thousands of places at once.
const LOGGED_PROBLEMS: usize = 20;

/// A problem is logged when it appears, not at every reading.
fn log_new_problems(before: &Snapshot, now: &Snapshot) {
    if let Some(problem) =
        now.directory_problem.as_ref().filter(|_| now.directory_problem != before.directory_problem)
    {
        warn!("{problem}; what is in force stays");
    }
    let words = |problem: &Problem| format!("{}: {problem}", problem.reason);
    let known: BTreeSet<String> = all_problems(before).map(words).collect();
    let new: BTreeSet<String> = all_problems(now).map(words).filter(|words| !known.contains(words)).collect();
    for problem in new.iter().take(LOGGED_PROBLEMS) {
        warn!("refused: {problem}");
    }
    if let Some(more) = new.len().checked_sub(LOGGED_PROBLEMS).filter(|more| *more > 0) {
        warn!("and {more} more problems; see `sluicectl status`");
    }
}

fn all_problems(snapshot: &Snapshot) -> impl Iterator<Item = &Problem> {
    let files = snapshot.files.iter();
    files.flat_map(|file| file.problems.iter().chain(file.of_sets.iter().map(|(_, problem)| problem)))
}

/// Never, where there is no deadline.
async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
