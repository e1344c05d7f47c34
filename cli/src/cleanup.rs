//! `cleanup`: has the dataplane take every program off, and removes what the agent remembers.

use std::{fs, io, path::Path, process::ExitCode};

use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use sluice_dataplane::cleanup;

use crate::{
    agent,
    arguments::CleanupArguments,
    error::Error,
    output::{self, clean},
};

/// What the agent keeps in its state directory: the policies last in force, and why interfaces
/// refused a mode.
const STATE_FILES: [&str; 2] = ["last-good.json", "refusals.json"];

/// Runs `sluicectl cleanup`. It may be run again: what is gone already is no error.
pub async fn run(agent_socket: &Path, arguments: &CleanupArguments) -> Result<ExitCode, Error> {
    let pin_path = &arguments.pin_path;
    let lines = match take_off(pin_path, &arguments.state_dir) {
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
    if lines.is_empty() {
        output::print("nothing to remove\n")?;
    } else {
        output::print(&format!("{}\n", lines.join("\n")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn how_to_stop(pid: Option<u32>) -> String {
    let by_pid = pid.map(|pid| format!(", or `kill {pid}`")).unwrap_or_default();
    format!("stop it first: `systemctl stop sluice-agent`{by_pid}; then run this again")
}

/// What was removed, a line for each thing.
fn take_off(pin_path: &Path, state_dir: &Path) -> Result<Vec<String>, Error> {
    let had_pins = exists(pin_path)?;
    let removed = cleanup::run(pin_path)?;
    let mut lines: Vec<_> =
        removed.interfaces.iter().map(|ifindex| format!("detached from {}", interface(*ifindex))).collect();
    if had_pins {
        lines.push(format!("removed {}", clean(&pin_path.display().to_string())));
    }
    for path in STATE_FILES.map(|file| state_dir.join(file)) {
        match fs::remove_file(&path) {
            Ok(()) => lines.push(format!("removed {}", clean(&path.display().to_string()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Remove { path, source }),
        }
    }
    Ok(lines)
}

/// A folder that we may not look into must not pass for one that is not there.
fn exists(path: &Path) -> Result<bool, Error> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::Look { path: path.to_path_buf(), source }),
    }
}

fn interface(ifindex: u32) -> String {
    let name = socket(AddressFamily::UNIX, SocketType::DGRAM, None)
        .and_then(|socket| netdevice::index_to_name(socket, ifindex));
    name.map_or_else(|_| format!("interface {ifindex}, which is gone"), |name| clean(&name))
}
