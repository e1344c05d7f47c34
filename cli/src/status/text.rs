//! The whole status as people read it: the agent, interfaces, policies, what was skipped. Tables
//! hold short words only; sentences stand on lines of their own below.

use std::fmt::{self, Display, Formatter};

use sluice_ipc::v1alpha1::{SkippedInterface, StatusReply};

use super::{counters, interfaces, policies, sets, table};
use crate::{numbers, output::clean};

/// A status, ready to be printed.
pub struct StatusText<'a> {
    pub reply: &'a StatusReply,
    pub now_unix_seconds: u64,
    /// Columns of the terminal, if it goes to one.
    pub width: Option<u16>,
    /// Whether to show every counter.
    pub counters: bool,
}

impl Display for StatusText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let reply = self.reply;
        self.agent(f)?;
        if reply.interfaces.is_empty() {
            self.nothing_attached(f)?;
        } else {
            interfaces::write(f, &reply.interfaces, self.width)?;
        }
        policies::write(f, &reply.policies, self.width)?;
        sets::write(f, &reply.sets, reply.address_table.as_ref(), self.width)?;
        skipped(f, &reply.skipped, self.width)?;
        if self.counters {
            counters::write(f, &reply.interfaces, self.width)?;
        }
        Ok(())
    }
}

impl StatusText<'_> {
    fn agent(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(agent) = &self.reply.agent else {
            return writeln!(f, "The agent says nothing about itself.\n");
        };
        write!(f, "Agent {}", clean(&agent.version))?;
        if !agent.node_name.is_empty() {
            write!(f, " on {}", clean(&agent.node_name))?;
        }
        let started = u64::try_from(agent.started_unix_seconds).unwrap_or(0);
        let up = numbers::span(self.now_unix_seconds.saturating_sub(started));
        writeln!(f, ", pid {}, running for {up}", agent.pid)?;
        if !agent.policy_directory.is_empty() {
            writeln!(f, "Policies come from {}", clean(&agent.policy_directory))?;
        }
        for problem in &agent.problems {
            writeln!(f, "PROBLEM: {}", clean(problem))?;
        }
        writeln!(f)
    }

    fn nothing_attached(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "No interface is attached: no packet is filtered on this node.")?;
        if !self.reply.policies.is_empty() {
            return writeln!(f, "What became of each policy is said below.");
        }
        writeln!(f, "There is no policy. What to do:")?;
        writeln!(f, "  1. write one, or copy one of the examples")?;
        writeln!(f, "  2. see what it would do:  sluicectl explain -f FILE")?;
        let Some(agent) = self.reply.agent.as_ref().filter(|agent| !agent.policy_directory.is_empty()) else {
            return writeln!(f, "  3. put it into the agent's policy directory");
        };
        let directory = clean(agent.policy_directory.trim_end_matches('/'));
        // The problem may be that the directory is missing.
        let make =
            if agent.problems.is_empty() { String::new() } else { format!("mkdir -p {directory} && ") };
        writeln!(f, "  3. put it in force:       {make}cp FILE {directory}/")
    }
}

fn skipped(f: &mut Formatter<'_>, skipped: &[SkippedInterface], width: Option<u16>) -> fmt::Result {
    if skipped.is_empty() {
        return Ok(());
    }
    let rows =
        skipped.iter().map(|skip| vec![skip.interface.clone(), skip.reason.clone(), skip.policy.clone()]);
    write!(f, "\n{}", table(&["LEFT ALONE", "REASON", "POLICY"], rows.collect(), width))?;
    for skip in skipped.iter().filter(|skip| !skip.message.is_empty()) {
        writeln!(f, "  {}: {}", clean(&skip.interface), clean(&skip.message))?;
    }
    Ok(())
}
