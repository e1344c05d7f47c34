//! An agent as a process. It is ended by its own process id alone.

use std::{
    cell::RefCell,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
};

use rustix::process::{Pid, Signal, kill_process};
use sluice_ipc::v1alpha1::{InterfaceStatus, PolicyStatus, Problem, RuleCounter, StatusReply, StatusRequest};
use sluice_testkit::wait_until;
use tokio::runtime::Runtime;

use super::{Node, SOON};

/// A running agent. Dropping it kills it, and prints what it said if the test fails.
pub struct Agent {
    child: Child,
    log: PathBuf,
    socket: PathBuf,
    runtime: Runtime,
    last: RefCell<Option<StatusReply>>,
}

impl Agent {
    /// The command of an agent on `node`.
    pub fn command(node: &Node) -> Command {
        Self::command_with(node, &node.path("state"), &node.path("agent.sock"))
    }

    /// The same with other files than those of the node.
    pub fn command_with(node: &Node, state: &Path, socket: &Path) -> Command {
        // `nsenter` becomes the agent: the child's process id is the agent's.
        let mut command = node.namespace().command(env!("CARGO_BIN_EXE_sluice-agent"));
        command.arg("--standalone").stdin(Stdio::null());
        command.arg("--policy-dir").arg(node.policies());
        command.arg("--pin-path").arg(node.pin_path());
        command.arg("--state-dir").arg(state);
        command.arg("--socket").arg(socket);
        // Absent unless the test writes it: the machine's own is no part of a lab.
        command.arg("--resolv-conf").arg(node.path("resolv.conf"));
        command
    }

    pub(super) fn start(node: &Node, arguments: &[&str]) -> Self {
        let log = node.path("agent.log");
        let file = File::options().create(true).append(true).open(&log).unwrap();
        let child = Self::command(node).args(arguments).stderr(file).spawn().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let socket = node.path("agent.sock");
        let mut agent = Self { child, log, socket, runtime, last: RefCell::default() };
        wait_until(SOON, "the agent answers", || {
            assert_eq!(agent.child.try_wait().unwrap(), None, "the agent has ended");
            agent.try_status().is_some_and(|status| status.agent.unwrap().pid == agent.pid())
        });
        agent
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn try_status(&self) -> Option<StatusReply> {
        let status = self.runtime.block_on(async {
            let mut client = sluice_ipc::connect(&self.socket).await.ok()?;
            client.status(StatusRequest { sample_milliseconds: 0 }).await.ok()
        });
        let status = status.map(tonic::Response::into_inner);
        self.last.replace(status.clone());
        status
    }

    /// What it says now.
    pub fn status(&self) -> StatusReply {
        self.try_status().expect("the agent does not answer")
    }

    /// Asks until the answer is as it should be.
    pub fn wait(&self, what: &str, holds: impl Fn(&StatusReply) -> bool) -> StatusReply {
        wait_until(SOON, what, || holds(&self.status()));
        self.last.borrow().clone().unwrap()
    }

    /// Waits until a device runs these rules of policies, in this order.
    pub fn wait_for_rules(&self, device: &str, rules: &[&str]) -> InterfaceStatus {
        let status = self.wait(&format!("{device} runs {rules:?}"), |status| {
            interface(status, device).is_some_and(|interface| {
                interface.program_id != 0 && policy_rules(interface).map(|rule| &rule.rule).eq(rules)
            })
        });
        interface(&status, device).unwrap().clone()
    }

    /// Waits until the node's device runs a rule of this name.
    pub fn wait_for_rules_of(&self, node: &Node, rule: &str) {
        self.wait(&format!("a rule {rule} runs"), |status| {
            interface(status, node.device()).is_some_and(|interface| {
                interface.program_id != 0 && interface.rules.iter().any(|known| known.rule == rule)
            })
        });
    }

    /// Waits until no program of ours is on a device.
    pub fn wait_until_off(&self, device: &str) {
        self.wait(&format!("{device} is free"), |status| {
            interface(status, device).is_none_or(|interface| interface.program_id == 0)
        });
    }

    /// Ends it by SIGTERM, as an orderly stop does.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal(Signal::TERM)
    }

    /// Ends it by a signal.
    pub fn signal(&mut self, signal: Signal) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        wait_for_exit(&mut self.child)
    }

    /// Ends it by SIGKILL.
    pub fn kill(&mut self) -> ExitStatus {
        self.child.kill().unwrap();
        self.child.wait().unwrap()
    }

    /// What it has logged so far, over all starts.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none())
            && let Err(error) = self.child.kill().and_then(|()| self.child.wait())
        {
            eprintln!("the agent outlives its test: {error}");
        }
        if thread::panicking() {
            eprintln!("the agent's log:\n{}", fs::read_to_string(&self.log).unwrap_or_default());
            eprintln!("the last status: {:#?}", self.last.borrow());
        }
    }
}

/// Waits for a process to end by itself.
pub fn wait_for_exit(child: &mut Child) -> ExitStatus {
    wait_until(SOON, "the process has ended", || child.try_wait().unwrap().is_some());
    child.wait().unwrap()
}

/// The rules of policies on an interface, without the failsafe.
pub fn policy_rules(interface: &InterfaceStatus) -> impl Iterator<Item = &RuleCounter> {
    interface.rules.iter().filter(|rule| rule.policy != "failsafe")
}

/// What a rule has counted.
pub fn counted(interface: &InterfaceStatus, policy: &str, rule: &str) -> u64 {
    let mut rules = interface.rules.iter();
    let found = rules.find(|counter| counter.policy == policy && counter.rule == rule);
    found.unwrap_or_else(|| panic!("no rule {policy}/{rule} in {:?}", interface.rules)).packets
}

/// What a status says of a device.
pub fn interface<'a>(status: &'a StatusReply, device: &str) -> Option<&'a InterfaceStatus> {
    status.interfaces.iter().find(|interface| interface.name == device)
}

/// What a status says of a policy.
pub fn policy_status<'a>(status: &'a StatusReply, name: &str) -> Option<&'a PolicyStatus> {
    status.policies.iter().find(|policy| policy.name == name)
}

/// Every problem that a status names.
pub fn problems(status: &StatusReply) -> impl Iterator<Item = &Problem> {
    status.policies.iter().flat_map(|policy| &policy.problems)
}
