//! Asking the agent, with an end to the waiting.

use std::{error::Error as _, path::Path, process::ExitCode, time::Duration};

use sluice_ipc::{
    AgentClient,
    v1alpha1::{StatusReply, StatusRequest},
};

use crate::{error::Error, output};

/// How long an agent may take beyond the time that it was asked to measure.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connects and asks once.
pub async fn status(socket: &Path, sample_milliseconds: u32) -> Result<StatusReply, Error> {
    let mut client = connect(socket).await?;
    ask(&mut client, socket, sample_milliseconds).await
}

/// Connects to the agent.
pub async fn connect(socket: &Path) -> Result<AgentClient, Error> {
    let connecting = tokio::time::timeout(PATIENCE, sluice_ipc::connect(socket));
    Ok(connecting.await.map_err(|_| silent(socket, PATIENCE))??)
}

/// Asks an agent that we are connected to.
pub async fn ask(
    client: &mut AgentClient,
    socket: &Path,
    sample_milliseconds: u32,
) -> Result<StatusReply, Error> {
    let patience = PATIENCE + Duration::from_millis(sample_milliseconds.into());
    match tokio::time::timeout(patience, client.status(StatusRequest { sample_milliseconds })).await {
        Ok(Ok(reply)) => Ok(reply.into_inner()),
        Ok(Err(status)) => Err(failed(socket, Box::new(status))),
        Err(_) => Err(silent(socket, patience)),
    }
}

/// An agent's own answer has no cause that we could see; what the transport says has one.
fn failed(socket: &Path, source: Box<tonic::Status>) -> Error {
    let socket = socket.to_path_buf();
    if source.source().is_some() { Error::Lost { socket, source } } else { Error::Refused { socket, source } }
}

fn silent(socket: &Path, patience: Duration) -> Error {
    Error::Silent { socket: socket.to_path_buf(), seconds: patience.as_secs() }
}

/// `version`. An agent that is away is no error here.
pub async fn print_versions(socket: &Path) -> Result<ExitCode, Error> {
    let agent = match status(socket, 0).await {
        Ok(reply) => reply.agent.map_or_else(|| "unknown".into(), |agent| output::clean(&agent.version)),
        Err(error) => format!("none ({error})"),
    };
    output::print(&format!("sluicectl {}\nagent {agent}\n", env!("CARGO_PKG_VERSION")))?;
    Ok(ExitCode::SUCCESS)
}
