//! The stage of one mode: two network namespaces joined by a veth pair, the agent on the one, the world
//! on the other. All frames are received on one CPU, whoever sends; the flood is sent from another.
//! Everything is taken down with this value, also when the run ends early.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::thread::{CpuSet, sched_getaffinity};
use sluice_ipc::v1alpha1::InterfaceStatus;
use sluice_testkit::traffic::{self, Flood, FloodReport, RunningFlood, TcpLoad, TcpServer};
use sluice_testkit::{BpffsDir, Frame, VethLab};
use tempfile::TempDir;

use super::agent::{self, Agent};
use super::build::Programs;
use super::interrupt;
use super::reading::{Reading, ReceiveThread, refused_datagrams};

/// Honest users at the same time.
const CLIENTS: usize = 8;
const HONEST_PORT: u16 = 80;
/// The discard service's port: a classic target that nobody listens on.
const FLOOD_PORT: u16 = 9;
/// The file that the policy goes to.
pub const POLICY_FILE: &str = "discard-flood.yaml";
/// An agent that has not acted by then has failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// One mode's stage. Fields are dropped in this order.
pub struct Stage {
    flood: Option<RunningFlood>,
    load: Option<TcpLoad>,
    server: TcpServer,
    /// The agent.
    pub agent: Agent,
    /// The agent's folder of pins.
    pub pins: BpffsDir,
    lab: VethLab,
    receive_thread: ReceiveThread,
    send_cpu: usize,
    /// What the honest users had done when they stopped.
    honest: (u64, u64),
    folder: TempDir,
}

/// The CPUs of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    /// Receives for the node, and runs its service.
    pub receive: usize,
    /// Sends the flood, and runs the honest users.
    pub send: usize,
}

impl Cpus {
    /// The first two that this process may use.
    pub fn choose() -> Result<Self> {
        let allowed = sched_getaffinity(None).context("ask for the CPUs of this process")?;
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        match (allowed.next(), allowed.next()) {
            (Some(receive), Some(send)) => Ok(Self { receive, send }),
            _ => bail!("two CPUs are needed: one receives, the other sends the flood"),
        }
    }
}

impl Stage {
    /// Sets everything up; nobody sends yet.
    pub fn set_up(programs: &Programs, cpus: Cpus, purpose: &str) -> Result<Self> {
        let folder = TempDir::with_prefix("sluice-demo-").context("make a directory for the agent")?;
        let lab = VethLab::new(purpose)?;
        lab.threaded_napi_pinned(cpus.receive)?;
        let receive_thread = ReceiveThread::find(&lab.node.device)?;
        receive_thread.put_first()?;
        let pins = BpffsDir::new(purpose)?;
        let node = &lab.node;
        let agent = Agent::start(&programs.agent, &node.namespace, folder.path(), pins.path())?;
        let address = SocketAddr::from((node.ipv4, HONEST_PORT));
        let server = TcpServer::start(&node.namespace, address, Some(cpus.receive))?;
        Ok(Self {
            flood: None,
            load: None,
            server,
            agent,
            pins,
            receive_thread,
            lab,
            send_cpu: cpus.send,
            honest: (0, 0),
            folder,
        })
    }

    /// The folder that the agent keeps everything in, but its pins.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The pinned link of the device, once a policy is in force.
    pub fn pinned_link(&self) -> PathBuf {
        self.pins.path().join(self.lab.node.ifindex.to_string()).join("link")
    }

    /// The device that the policy is about.
    pub fn device(&self) -> &str {
        &self.lab.node.device
    }

    /// Counts up to now.
    pub fn read(&mut self) -> Result<Reading> {
        let node = &self.lab.node;
        let interface = self.agent.interface(node.ifindex, 0)?;
        if let Some(load) = &self.load {
            self.honest = (load.transactions(), load.failures());
        }
        Ok(Reading {
            at: Instant::now(),
            transactions: self.honest.0,
            failures: self.honest.1,
            reached: refused_datagrams(&node.namespace)?,
            dropped: interface.as_ref().map_or(0, dropped),
            received: node.namespace.counters(&node.device)?.rx_packets,
            receive_time: self.receive_thread.time(),
        })
    }

    /// Lets the honest users begin.
    pub fn start_load(&mut self) {
        let peer = &self.lab.peer.namespace;
        self.load = Some(TcpLoad::start(peer, self.server.address(), CLIENTS, Some(self.send_cpu)));
    }

    /// Starts the flood, at the highest rate that its CPU gives.
    pub fn start_flood(&mut self) -> Result<()> {
        let peer = &self.lab.peer;
        let flood = Flood::new(vec![self.flood_frame()]).on_cpu(self.send_cpu);
        self.flood = Some(flood.start(&peer.namespace, &peer.device)?);
        Ok(())
    }

    /// Sends a few packets of the flood, and no more.
    pub fn send_few(&self) -> Result<()> {
        let peer = &self.lab.peer;
        traffic::send(&peer.namespace, &peer.device, &vec![self.flood_frame(); 16])
    }

    fn flood_frame(&self) -> Vec<u8> {
        let (node, peer) = (&self.lab.node, &self.lab.peer);
        Frame::ethernet(peer.mac, node.mac)
            .ipv4(peer.ipv4, node.ipv4)
            .udp(40_000, FLOOD_PORT)
            .pad_to(60)
            .build()
    }

    /// Stops the flood.
    pub fn stop_flood(&mut self) -> Result<FloodReport> {
        self.flood.take().context("no flood runs")?.stop()
    }

    /// Lets the honest users finish.
    pub fn stop_load(&mut self) -> Result<()> {
        if let Some(load) = self.load.take() {
            let report = load.stop()?;
            self.honest = (report.transactions, report.failures);
        }
        Ok(())
    }

    /// Renames the policy into the agent's folder, and waits until the agent says that it is in force.
    pub fn apply_policy(&mut self, mode: &str) -> Result<(InterfaceStatus, Duration)> {
        let text = agent::policy(self.device(), mode, &[FLOOD_PORT]);
        let started = Instant::now();
        agent::place(self.folder.path(), POLICY_FILE, &text)?;
        loop {
            interrupt::check()?;
            let status = self.interface(0)?;
            if status.program_id != 0 {
                return Ok((status, started.elapsed()));
            }
            ensure!(
                started.elapsed() < PATIENCE,
                "the policy is not in force after {PATIENCE:?}: {} {}; {}",
                status.reason,
                status.message,
                self.agent.last_words()
            );
        }
    }

    /// What the agent says of the device.
    pub fn interface(&mut self, sample_milliseconds: u32) -> Result<InterfaceStatus> {
        let ifindex = self.lab.node.ifindex;
        Ok(self.agent.interface(ifindex, sample_milliseconds)?.unwrap_or_default())
    }

    /// The same as [`Self::reached`], once a packet that was being received is counted too.
    pub fn reached_when_quiet(&self) -> Result<u64> {
        let started = Instant::now();
        loop {
            let before = self.reached()?;
            sleep(Duration::from_millis(5));
            let reached = self.reached()?;
            // Without a policy in force it never is quiet; then what comes on top is what is reported.
            if reached == before || started.elapsed() > Duration::from_millis(50) {
                return Ok(reached);
            }
        }
    }

    /// Flood packets that have reached the node's stack, read without asking the agent.
    pub fn reached(&self) -> Result<u64> {
        refused_datagrams(&self.lab.node.namespace)
    }

    /// Whether the device carries an XDP program, in the words of `ip`.
    pub fn has_program(&self) -> Result<bool> {
        Ok(self.lab.node.namespace.ip(&format!("link show dev {}", self.device()))?.contains("xdp"))
    }

    /// Ends the agent as `kill -9` does.
    pub fn kill_agent(&mut self) -> Result<()> {
        self.agent.kill().map(drop)
    }

    /// Starts an agent in place of the one that was killed.
    pub fn start_agent(&mut self, programs: &Programs) -> Result<()> {
        let namespace = &self.lab.node.namespace;
        self.agent = Agent::start(&programs.agent, namespace, self.folder.path(), self.pins.path())?;
        Ok(())
    }

    /// Takes everything off, as an operator does. No agent may run.
    pub fn clean_up(&self, programs: &Programs) -> Result<()> {
        let output = self
            .lab
            .node
            .namespace
            .command(&programs.sluicectl)
            .arg("--socket")
            .arg(self.agent.socket())
            .arg("cleanup")
            .arg("--pin-path")
            .arg(self.pins.path())
            .arg("--state-dir")
            .arg(self.folder.path().join("state"))
            .output()
            .context("start sluicectl cleanup")?;
        ensure!(
            output.status.success(),
            "sluicectl cleanup: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(())
    }
}

/// What the policy's rules have dropped.
pub fn dropped(interface: &InterfaceStatus) -> u64 {
    interface.rules.iter().filter(|rule| rule.action == "Drop").map(|rule| rule.packets).sum()
}
