//! An agent that answers what the test says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use sluice_ipc::v1alpha1::{
    AgentStatus, StatusReply, StatusRequest,
    agent_server::{Agent, AgentServer},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tonic::{Request, Response, Status, transport::Server};

/// Says how long it was asked to sample as its process id, so that a test sees the question.
struct Canned(Result<StatusReply, Status>);

#[tonic::async_trait]
impl Agent for Canned {
    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusReply>, Status> {
        let pid = request.into_inner().sample_milliseconds;
        let mut reply = self.0.clone()?;
        reply.agent = Some(AgentStatus { pid, version: "9.9.9".into(), ..AgentStatus::default() });
        Ok(Response::new(reply))
    }
}

/// It answers until it is dropped.
pub struct RunningAgent {
    folder: TempDir,
    _runtime: Runtime,
}

impl RunningAgent {
    pub fn start(answer: Result<StatusReply, Status>) -> Self {
        let folder = TempDir::new().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let incoming = runtime.block_on(sluice_ipc::listen(&folder.path().join("agent.sock"))).unwrap();
        runtime.spawn(
            Server::builder().add_service(AgentServer::new(Canned(answer))).serve_with_incoming(incoming),
        );
        Self { folder, _runtime: runtime }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("agent.sock")
    }
}
