//! `sluice-agent`: the one process on a node that programs the kernel or holds node state.
#![forbid(unsafe_code)]

mod address_sets;
mod answers;
mod arguments;
mod attempt;
mod facts;
mod interface;
mod marking;
mod node;
mod owner;
mod policies;
mod policy_directory;
mod preflight;
mod proof;
mod report;
mod resolvers;
mod service;
mod set_status;
mod step;

use std::{
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use clap::Parser as _;
use sluice_dataplane::links::{LinkEvents, Netlink, RoutingEvents};
use sluice_ipc::v1alpha1::{AgentStatus, agent_server::AgentServer};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use tracing::{error, info};
use tracing_subscriber::EnvFilter;

use crate::{
    arguments::Arguments,
    node::Node,
    owner::{Events, Owner},
    policy_directory::PolicyDirectory,
    resolvers::Resolvers,
    service::Service,
};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    start_log(arguments.log_json);
    match start(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: Arguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let socket = arguments.socket.clone();
    runtime.block_on(run(arguments))?;
    // Only after an orderly end: what another agent listens on is not ours.
    std::fs::remove_file(&socket).with_context(|| format!("cannot remove {}", socket.display()))
}

fn start_log(json: bool) {
    let filter = EnvFilter::try_from_env("SLUICE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if json {
        log.json().init();
    } else {
        log.with_target(false).init();
    }
}

/// Runs until a signal. Whatever is attached stays attached when this returns, for whatever reason.
async fn run(arguments: Arguments) -> anyhow::Result<()> {
    preflight::check()?;
    std::fs::create_dir_all(&arguments.state_dir)
        .with_context(|| format!("cannot make the state directory {}", arguments.state_dir.display()))?;
    let netlink = Netlink::open()?;
    // Subscribed before the first reading, so that no change falls between the two.
    let events = Events {
        links: LinkEvents::subscribe()?,
        routing: RoutingEvents::subscribe()?,
        resolvers: Resolvers::open(&arguments.resolv_conf).context("cannot watch the name servers")?,
    };
    let mut node = Node::open(&arguments.pin_path, &arguments.state_dir, netlink)?;
    node.facts.api_servers.clone_from(&arguments.api_servers);
    let directory = PolicyDirectory::open(&arguments.policy_dir, &arguments.state_dir)?;
    let incoming = sluice_ipc::listen(&arguments.socket).await?;
    let (questions, inbox) = mpsc::channel(16);
    let service = Service { questions, agent: agent_status(&arguments) };
    let server = tonic::transport::Server::builder()
        .add_service(AgentServer::new(service))
        .serve_with_incoming(incoming);
    info!(version = env!("CARGO_PKG_VERSION"), policies = %arguments.policy_dir.display(), "started");
    tokio::select! {
        result = Owner::new(node, directory, events, inbox).run() => result,
        result = server => result.context("cannot serve the agent's socket"),
        stopped = told_to_stop() => stopped.context("cannot wait for signals"),
    }
}

async fn told_to_stop() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    info!("stopping; what is attached stays attached");
    Ok(())
}

fn agent_status(arguments: &Arguments) -> AgentStatus {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    AgentStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        node_name: arguments.node_name.clone(),
        started_unix_seconds: i64::try_from(started.as_secs()).unwrap_or(i64::MAX),
        policy_directory: arguments.policy_dir.display().to_string(),
        pin_path: arguments.pin_path.display().to_string(),
        problems: Vec::new(),
    }
}
