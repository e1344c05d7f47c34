//! The gRPC service: asks the owner, waits for the sampling window, computes rates. It never touches
//! the node itself.

use std::time::Duration;

use sluice_dataplane::{attachment::RunStatistics, enable_run_statistics};
use sluice_ipc::{
    LONGEST_SAMPLE_MILLISECONDS, NO_PACKET_IN_SAMPLE,
    v1alpha1::{self as ipc, agent_server::Agent},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep},
};
use tonic::{Request, Response, Status};

use crate::{
    owner::Question,
    report::{Report, Sample},
};

/// Answers clients of the agent's socket.
#[derive(Debug)]
pub struct Service {
    /// Where the owner takes questions.
    pub questions: mpsc::Sender<Question>,
    /// What does not change while the agent runs.
    pub agent: ipc::AgentStatus,
}

impl Service {
    async fn ask(&self) -> Result<Report, Status> {
        let (answer, question) = oneshot::channel();
        let stopping = || Status::unavailable("the agent is stopping");
        self.questions.send(answer).await.map_err(|_| stopping())?;
        question.await.map_err(|_| stopping())
    }
}

#[tonic::async_trait]
impl Agent for Service {
    async fn status(
        &self,
        request: Request<ipc::StatusRequest>,
    ) -> Result<Response<ipc::StatusReply>, Status> {
        // No client keeps run statistics on for longer than that.
        let milliseconds = request.into_inner().sample_milliseconds.min(LONGEST_SAMPLE_MILLISECONDS);
        let window = Duration::from_millis(milliseconds.into());
        let mut report = None;
        if !window.is_zero() {
            let statistics = enable_run_statistics();
            let first = self.ask().await?;
            let started = Instant::now();
            sleep(window).await;
            let mut second = self.ask().await?;
            let unavailable =
                statistics.err().map(|error| format!("run statistics cannot be switched on: {error}"));
            add_rates(&first, &mut second, started.elapsed(), unavailable.as_deref());
            report = Some(second);
        }
        let report = match report {
            Some(report) => report,
            None => self.ask().await?,
        };
        let mut agent = self.agent.clone();
        agent.problems = report.problems;
        Ok(Response::new(ipc::StatusReply {
            agent: Some(agent),
            policies: report.policies,
            interfaces: report.interfaces,
            skipped: report.skipped,
            sets: report.sets,
            address_table: Some(report.table),
        }))
    }
}

fn add_rates(first: &Report, second: &mut Report, window: Duration, unavailable: Option<&str>) {
    for status in &mut second.interfaces {
        let (Some(before), Some(now)) =
            (first.samples.get(&status.ifindex), second.samples.get(&status.ifindex))
        else {
            continue;
        };
        status.packets_per_second = Some(rate(before.packets, now.packets, window));
        status.drops_per_second = Some(rate(before.drops, now.drops, window));
        match unavailable {
            Some(because) => because.clone_into(&mut status.nanoseconds_unavailable_because),
            None => status.nanoseconds_per_packet = nanoseconds(before, now),
        }
        if status.nanoseconds_per_packet.is_none() && unavailable.is_none() {
            NO_PACKET_IN_SAMPLE.clone_into(&mut status.nanoseconds_unavailable_because);
        }
    }
}

fn rate(before: u64, now: u64, window: Duration) -> f64 {
    now.saturating_sub(before) as f64 / window.as_secs_f64()
}

/// Mean time of a run. Of a program that was swapped in meanwhile, all runs count.
fn nanoseconds(before: &Sample, now: &Sample) -> Option<f64> {
    let before = if before.program == now.program { before.runs } else { RunStatistics::default() };
    let runs = now.runs.runs.saturating_sub(before.runs);
    let time = now.runs.time.saturating_sub(before.time);
    (runs > 0).then(|| time.as_nanos() as f64 / runs as f64)
}
