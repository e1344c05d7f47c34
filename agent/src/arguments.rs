//! The command line of the agent.

use std::{net::SocketAddr, path::PathBuf};

use clap::Parser;
use sluice_ipc::paths;

/// Attaches XDP programs to this node's interfaces as policies ask.
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Arguments {
    /// Take policies from a directory, without a cluster. The only way so far.
    #[arg(long, required = true)]
    pub standalone: bool,
    /// Directory with XdpPolicy files (*.yaml, *.yml, *.json).
    #[arg(long, value_name = "DIR", default_value = paths::DEFAULT_POLICY_DIR)]
    pub policy_dir: PathBuf,
    /// Directory of pinned links and maps, in a BPF file system.
    #[arg(long, value_name = "DIR", default_value = paths::DEFAULT_PIN_PATH)]
    pub pin_path: PathBuf,
    /// Directory for what must survive a restart: the last good policies, and why interfaces refused.
    #[arg(long, value_name = "DIR", default_value = paths::DEFAULT_STATE_DIR)]
    pub state_dir: PathBuf,
    /// Unix socket for sluicectl.
    #[arg(long, value_name = "PATH", default_value = paths::DEFAULT_SOCKET)]
    pub socket: PathBuf,
    /// An endpoint of the cluster's API server, as ADDRESS:PORT, for the built-in failsafe; may be repeated.
    #[arg(long = "api-server", value_name = "ADDRESS:PORT")]
    pub api_servers: Vec<SocketAddr>,
    /// Where the node's name servers are listed, for the built-in failsafe.
    #[arg(long, value_name = "PATH", default_value = "/etc/resolv.conf")]
    pub resolv_conf: PathBuf,
    /// Name of this node in status.
    #[arg(long, value_name = "NAME", env = "NODE_NAME", default_value = "")]
    pub node_name: String,
    /// Log as JSON, one object a line.
    #[arg(long)]
    pub log_json: bool,
}
