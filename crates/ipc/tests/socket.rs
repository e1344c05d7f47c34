//! The socket's life: made, used, replaced when stale, refused when not ours to replace.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    fs,
    os::unix::{
        fs::{FileTypeExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
};

use sluice_ipc::{
    Error, connect, listen,
    v1alpha1::{
        AgentStatus, PolicyState, PolicyStatus, StatusReply, StatusRequest,
        agent_server::{Agent, AgentServer},
    },
};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tonic::{Request, Response, Status, transport::Server};

/// Answers with the request's own number, to show that both directions work.
struct Echo;

#[tonic::async_trait]
impl Agent for Echo {
    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusReply>, Status> {
        let pid = request.into_inner().sample_milliseconds;
        Ok(Response::new(StatusReply {
            agent: Some(AgentStatus { pid, ..AgentStatus::default() }),
            ..StatusReply::default()
        }))
    }
}

async fn serve(socket: &Path) -> JoinHandle<()> {
    let incoming = listen(socket).await.unwrap();
    tokio::spawn(async move {
        Server::builder().add_service(AgentServer::new(Echo)).serve_with_incoming(incoming).await.unwrap();
    })
}

async fn ask(socket: &Path, sample_milliseconds: u32) -> u32 {
    let mut client = connect(socket).await.unwrap();
    let reply = client.status(StatusRequest { sample_milliseconds }).await.unwrap().into_inner();
    reply.agent.unwrap().pid
}

#[tokio::test]
async fn a_client_reaches_the_agent() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("run/sluice/agent.sock");
    let server = serve(&socket).await;
    assert_eq!(ask(&socket, 4711).await, 4711);
    server.abort();
}

#[tokio::test]
async fn the_socket_is_for_its_owner_only_and_nothing_else_is_left() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("agent.sock");
    let server = serve(&socket).await;
    let metadata = fs::symlink_metadata(&socket).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    server.abort();
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("agent.sock");
    // Closing a listener does not remove its name: this is what a killed agent leaves.
    drop(UnixListener::bind(&socket).unwrap());
    assert!(matches!(connect(&socket).await, Err(Error::NobodyListens { .. })));
    let server = serve(&socket).await;
    assert_eq!(ask(&socket, 7).await, 7);
    assert_eq!(fs::symlink_metadata(&socket).unwrap().permissions().mode() & 0o7777, 0o600);
    server.abort();
}

#[tokio::test]
async fn a_live_socket_is_refused_and_goes_on_working() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("agent.sock");
    let server = serve(&socket).await;
    let error = listen(&socket).await.err().unwrap();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert!(error.to_string().contains("another agent listens there already"), "{error}");
    assert_eq!(ask(&socket, 9).await, 9);
    server.abort();
}

#[tokio::test]
async fn a_regular_file_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("agent.sock");
    fs::write(&socket, "precious").unwrap();
    let error = listen(&socket).await.err().unwrap();
    assert!(error.to_string().contains("there is a regular file at this path"), "{error}");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_symbolic_link_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let (socket, target) = (folder.path().join("agent.sock"), folder.path().join("target.sock"));
    // Even when it leads to a stale socket: whoever made the link chose the target.
    drop(UnixListener::bind(&target).unwrap());
    symlink(&target, &socket).unwrap();
    let error = listen(&socket).await.err().unwrap();
    assert!(error.to_string().contains("there is a symbolic link at this path"), "{error}");
    assert_eq!(fs::read_link(&socket).unwrap(), target);
    assert!(fs::symlink_metadata(&target).unwrap().file_type().is_socket());
}

#[tokio::test]
async fn a_client_reconnects_to_a_restarted_agent() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("agent.sock");
    let first = serve(&socket).await;
    let mut client = connect(&socket).await.unwrap();
    client.status(StatusRequest::default()).await.unwrap();
    first.abort();
    assert!(first.await.err().unwrap().is_cancelled());
    let second = serve(&socket).await;
    // The first call may still meet the closed connection.
    let reply = match client.status(StatusRequest { sample_milliseconds: 3 }).await {
        Ok(reply) => reply,
        Err(_) => client.status(StatusRequest { sample_milliseconds: 3 }).await.unwrap(),
    };
    assert_eq!(reply.into_inner().agent.unwrap().pid, 3);
    second.abort();
}

#[tokio::test]
async fn errors_of_connect_name_the_path_and_what_to_do() {
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("absent.sock");
    let error = connect(&socket).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("cannot reach the agent: there is no socket at {}", socket.display())
    );
    assert!(error.remedy().contains("--socket PATH"), "{}", error.remedy());
}

#[tokio::test]
async fn errors_of_listen_name_the_path() {
    for path in ["", "/", "/proc/nowhere/agent.sock"] {
        let error = listen(Path::new(path)).await.err().unwrap();
        assert!(error.to_string().starts_with(&format!("cannot listen on {path}: ")), "{error}");
    }
}

#[test]
fn a_policy_state_is_written_by_name() {
    let state = |state| serde_json::to_value(PolicyStatus { state, ..PolicyStatus::default() }).unwrap();
    assert_eq!(state(PolicyState::LastGood.into())["state"], "LastGood");
    assert_eq!(state(4711)["state"], "Unknown");
}
