//! A `sluice-agent` of this run: started inside a network namespace, asked over its socket, and ended
//! with this value. What it attached stays attached; the folder of pins is the caller's.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use sluice_ipc::AgentClient;
use sluice_ipc::v1alpha1::{InterfaceStatus, StatusReply, StatusRequest};
use sluice_testkit::NetworkNamespace;
use tokio::runtime::Runtime;

use super::interrupt;

const PATIENCE: Duration = Duration::from_secs(15);

/// A running agent.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
    client: Option<AgentClient>,
    runtime: Runtime,
}

impl Agent {
    /// Starts `program` in `namespace` and waits until it answers. Everything it keeps is in `folder`,
    /// its policies in `folder/policies`, its pins in `pins`.
    pub fn start(program: &Path, namespace: &NetworkNamespace, folder: &Path, pins: &Path) -> Result<Self> {
        let policies = folder.join("policies");
        fs::create_dir_all(&policies).with_context(|| format!("make {}", policies.display()))?;
        let (socket, log) = (folder.join("agent.sock"), folder.join("agent.log"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Should this process be killed, the kernel ends the agent too.
        let child = namespace
            .command("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .arg("--standalone")
            .arg("--policy-dir")
            .arg(&policies)
            .arg("--pin-path")
            .arg(pins)
            .arg("--state-dir")
            .arg(folder.join("state"))
            .arg("--socket")
            .arg(&socket)
            .stderr(File::create(&log).with_context(|| format!("make {}", log.display()))?)
            .spawn()
            .context("start the agent")?;
        let mut agent = Self { child, socket, log, client: None, runtime };
        agent.connect()?;
        Ok(agent)
    }

    fn connect(&mut self) -> Result<()> {
        let started = Instant::now();
        loop {
            interrupt::check()?;
            if let Some(status) = self.child.try_wait().context("look at the agent")? {
                bail!("the agent ended at once ({status}): {}", self.last_words());
            }
            match self.runtime.block_on(sluice_ipc::connect(&self.socket)) {
                Ok(client) => {
                    self.client = Some(client);
                    return Ok(());
                }
                Err(error) if started.elapsed() > PATIENCE => {
                    return Err(error).with_context(|| format!("reach the agent: {}", self.last_words()));
                }
                Err(_) => sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Its status; rates are measured over so many milliseconds, 0 for none.
    pub fn status(&mut self, sample_milliseconds: u32) -> Result<StatusReply> {
        let client = self.client.as_mut().context("the agent is not connected")?;
        let request = client.status(StatusRequest { sample_milliseconds });
        let limit = PATIENCE + Duration::from_millis(sample_milliseconds.into());
        let answer = self.runtime.block_on(async { tokio::time::timeout(limit, request).await });
        match answer {
            Ok(Ok(reply)) => Ok(reply.into_inner()),
            Ok(Err(status)) => bail!("the agent refuses to answer: {status}; {}", self.last_words()),
            Err(_) => bail!("the agent does not answer within {limit:?}; {}", self.last_words()),
        }
    }

    /// The status of one interface, if the agent has anything to say of it.
    pub fn interface(&mut self, ifindex: u32, sample_milliseconds: u32) -> Result<Option<InterfaceStatus>> {
        let reply = self.status(sample_milliseconds)?;
        Ok(reply.interfaces.into_iter().find(|interface| interface.ifindex == ifindex))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Ends it, as an operator's `kill -9` would.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        self.child.kill().context("end the agent")?;
        self.child.wait().context("wait for the agent's end")
    }

    /// The end of its log.
    pub fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        if lines.is_empty() {
            return "it logged nothing".to_owned();
        }
        format!("its log ends:\n{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // An error means that it has ended already.
        self.kill().map(drop).unwrap_or_default();
    }
}

/// A policy of one rule that drops UDP to these ports on one device.
pub fn policy(device: &str, mode: &str, ports: &[u16]) -> String {
    let ports: Vec<String> = ports.iter().map(|port| format!("\"{port}\"")).collect();
    format!(
        "apiVersion: sluice.dev/v1alpha1\n\
         kind: XdpPolicy\n\
         metadata:\n\
        \x20 name: discard-flood\n\
         spec:\n\
        \x20 interfaces:\n\
        \x20 - names: [{device}]\n\
        \x20 mode: {mode}\n\
        \x20 rules:\n\
        \x20 - name: udp-9\n\
        \x20   match: {{protocol: UDP, destinationPorts: [{}]}}\n\
        \x20   action: {{type: Drop}}\n",
        ports.join(", ")
    )
}

/// Puts a policy file into force the way a careful editor does: written beside, then renamed into place.
pub fn place(folder: &Path, name: &str, text: &str) -> Result<()> {
    let (beside, place) = (folder.join(name), folder.join("policies").join(name));
    fs::write(&beside, text).with_context(|| format!("write {}", beside.display()))?;
    fs::rename(&beside, &place).with_context(|| format!("rename {} into place", beside.display()))
}
