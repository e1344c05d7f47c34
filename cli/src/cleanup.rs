//! `cleanup`: has the dataplane take every program off, and removes what the agent remembers.

use std::{fs, io, path::Path, process::ExitCode};

use sluice_dataplane::{
    cleanup,
    links::{Link, Netlink},
};
use sluice_ipc::paths::STATE_FILES;

use crate::{
    agent,
    arguments::CleanupArguments,
    error::Error,
    output::{self, clean},
};

/// Runs `sluicectl cleanup`. It may be run again: what is gone already is no error.
pub async fn run(agent_socket: &Path, arguments: &CleanupArguments) -> Result<ExitCode, Error> {
    let pin_path = &arguments.pin_path;
    let seen = links().await;
    let TakenOff { lines, failures } = match take_off(pin_path, &arguments.state_dir, &seen) {
        Err(Error::Dataplane(sluice_dataplane::Error::InUse { .. })) => {
            let pid = agent::status(agent_socket, 0)
                .await
                .ok()
                .and_then(|reply| reply.agent)
                .map(|agent| agent.pid);
            return Err(Error::AgentRuns { pin_path: pin_path.clone(), stop: how_to_stop(pid) });
        }
        other => other?,
    };
    if !lines.is_empty() {
        output::print(&format!("{}\n", lines.join("\n")))?;
    } else if failures.is_empty() {
        output::print("nothing to remove\n")?;
    }
    failures.iter().for_each(output::complain);
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn how_to_stop(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("stop it first: `kill {pid}`; then run this again"),
        None => "stop it first: `kill PID`, with the process id of sluice-agent; then run this again".into(),
    }
}

/// What was removed, a line for each thing, and why anything is left.
struct TakenOff {
    lines: Vec<String>,
    failures: Vec<Error>,
}

/// The devices of this network namespace before anything is removed. They only give names: to do
/// without is better than not to clean up.
async fn links() -> Vec<Link> {
    match Netlink::open() {
        Ok(netlink) => netlink.links().await.unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

fn take_off(pin_path: &Path, state_dir: &Path, seen: &[Link]) -> Result<TakenOff, Error> {
    let had_pins = exists(pin_path)?;
    let removed = cleanup::run(pin_path)?;
    let detached = |ifindex: &u32| {
        let program = removed.programs.get(ifindex).copied();
        format!("detached from {}", interface(*ifindex, program, seen))
    };
    let mut lines: Vec<_> = removed.interfaces.iter().map(detached).collect();
    if had_pins && removed.failures.is_empty() {
        lines.push(removed_path(pin_path));
    }
    let mut failures: Vec<_> = removed.failures.into_iter().map(Error::Dataplane).collect();
    for path in STATE_FILES.map(|file| state_dir.join(file)) {
        match fs::remove_file(&path) {
            Ok(()) => lines.push(removed_path(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => failures.push(Error::Remove { path, source }),
        }
    }
    Ok(TakenOff { lines, failures })
}

fn removed_path(path: &Path) -> String {
    format!("removed {}", clean(&path.display().to_string()))
}

/// A directory that we may not look into must not pass for one that is not there.
fn exists(path: &Path) -> Result<bool, Error> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::Look { path: path.to_path_buf(), source }),
    }
}

/// The agent may have worked in another network namespace, where this index is another device: a name is
/// told only if the device that has it here ran the program.
fn interface(ifindex: u32, program: Option<u32>, seen: &[Link]) -> String {
    let ran = |link: &&Link| {
        let programs = link.xdp.iter().flat_map(|xdp| &xdp.programs);
        link.ifindex == ifindex && programs.map(|attached| Some(attached.program_id)).any(|id| id == program)
    };
    match seen.iter().find(ran) {
        Some(link) => format!("interface {ifindex} ({})", clean(&link.name)),
        None => format!("interface {ifindex} (not seen from this network namespace)"),
    }
}
