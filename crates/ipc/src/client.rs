//! The client's side: connecting to the agent's socket.

use std::{
    error::Error as StdError,
    io,
    path::{Path, PathBuf},
};

use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};

use crate::{Error, v1alpha1};

/// Speaks to an agent. It connects anew by itself when the agent was restarted.
pub type AgentClient = v1alpha1::agent_client::AgentClient<Channel>;

/// A status names every rule of every interface. The peer is root's own agent, so the limit only
/// has to stop nonsense.
const LARGEST_REPLY: usize = 64 << 20;

/// Connects to the agent that listens on `socket`.
pub async fn connect(socket: &Path) -> Result<AgentClient, Error> {
    let path = socket.to_path_buf();
    let connector = tower::service_fn(move |_: Uri| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
    });
    // The address is never looked up: the connector knows the socket.
    let channel = Endpoint::from_static("http://agent.invalid")
        .connect_with_connector(connector)
        .await
        .map_err(|error| explain(socket.to_path_buf(), error))?;
    Ok(AgentClient::new(channel).max_decoding_message_size(LARGEST_REPLY))
}

fn explain(socket: PathBuf, error: tonic::transport::Error) -> Error {
    match io_error_kind(&error) {
        Some(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Error::NoSocket { socket },
        Some(io::ErrorKind::ConnectionRefused) => Error::NobodyListens { socket },
        Some(io::ErrorKind::PermissionDenied) => Error::PermissionDenied { socket },
        _ => Error::Connect { socket, source: error },
    }
}

fn io_error_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    std::iter::successors(Some(error), |&error| error.source())
        .find_map(|error| error.downcast_ref::<io::Error>())
        .map(io::Error::kind)
}
