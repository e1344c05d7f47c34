//! The words of the command line. Their help texts are what `docs/sluicectl.md` shows.

mod cidrset;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, builder::RangedI64ValueParser};
use sluice_ipc::{LONGEST_SAMPLE_MILLISECONDS, paths};
use sluice_policy::reference::Packet;

pub use cidrset::{
    ApplyArguments, CheckArguments, CidrsetArguments, CidrsetCommand, FeedOptions, ListArguments,
};

const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   it could not be done, or what was checked has problems
  2   the agent cannot be reached
  64  the command line cannot be understood";

/// Shows and explains what Sluice does to this node's network interfaces.
#[derive(Debug, Parser)]
#[command(name = "sluicectl", version, after_help = EXIT_CODES)]
pub struct Arguments {
    /// The agent's socket
    #[arg(long, global = true, value_name = "PATH", default_value = paths::DEFAULT_SOCKET)]
    pub socket: PathBuf,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show interfaces, policies and problems, as the agent and the kernel have them now
    ///
    /// Ends with 0 also when there are problems, unless --check is given.
    Status(StatusArguments),
    /// Show a live table of interfaces and of the busiest rules (q quits)
    Top,
    /// Show what policies would do, or everything that is wrong with them; needs no agent
    ///
    /// Ends with 1 if anything is wrong.
    Explain(ExplainArguments),
    /// Check published lists of addresses, and turn them into address sets; needs no agent
    Cidrset(CidrsetArguments),
    /// Take every program of Sluice off this node, and forget what was in force
    ///
    /// An agent that stops leaves its programs attached; this is the way to take them off. It
    /// refuses while an agent runs. It may be run again.
    Cleanup(CleanupArguments),
    /// Show the version of sluicectl, and of the agent if one runs
    Version,
}

/// Words of `status`.
#[derive(Args, Debug)]
pub struct StatusArguments {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = StatusFormat::Table)]
    pub output: StatusFormat,
    /// Measure rates over this time (0: no rates, answer at once; at most 10000)
    #[arg(long, value_name = "NUMBER", default_value_t = 500, value_parser = sample_milliseconds())]
    pub sample_milliseconds: u32,
    /// Add tables of every counter: by rule, by verdict, and of malformed packets
    #[arg(long)]
    pub counters: bool,
    /// End with 1 if there is a problem: the agent reports one, a policy is not in force as its
    /// file has it, or an interface runs no program of ours or is bypassed
    #[arg(long)]
    pub check: bool,
}

fn sample_milliseconds() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(..=i64::from(LONGEST_SAMPLE_MILLISECONDS))
}

/// How `status` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatusFormat {
    /// Tables for people.
    Table,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// Words of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArguments {
    /// Files or directories with policies; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "named")]
    pub files: Vec<PathBuf>,
    /// The same, as other commands take it
    #[arg(short = 'f', long = "filename", value_name = "FILE", num_args = 1..)]
    pub named: Vec<PathBuf>,
    /// Plan for the node whose network devices this YAML file lists, under the key links
    #[arg(long, value_name = "FILE")]
    pub links: Option<PathBuf>,
    /// Tell which rule decides about this packet, and why
    ///
    /// Either the hexadecimal digits of a whole Ethernet frame (spaces and colons may stand between),
    /// or a description: `udp 192.0.2.1:4000 > 198.51.100.20:9`, `tcp [2001:db8::1]:1 > [2001:db8::2]:22 syn`,
    /// `icmp 192.0.2.1 > 198.51.100.20 type 8`, `arp`; behind the addresses also `vlan N`, `length N`,
    /// `fragment first` and `fragment later`. TCP without flags is a SYN. Failsafe included.
    #[arg(long, value_name = "PACKET", value_parser = crate::explain::parse_packet)]
    pub packet: Option<Packet>,
    /// The interface that the packet arrives on, if --links has several
    #[arg(long, value_name = "NAME", requires = "packet")]
    pub interface: Option<String>,
    /// Show every rule, also those that the packet does not reach
    #[arg(long, requires = "packet")]
    pub all: bool,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = ExplainFormat::Text)]
    pub output: ExplainFormat,
}

/// How `explain` and `cidrset` print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// Words for people.
    Text,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// Words of `cleanup`.
#[derive(Args, Debug)]
pub struct CleanupArguments {
    /// The agent's directory on the BPF file system
    #[arg(long, value_name = "DIR", default_value = paths::DEFAULT_PIN_PATH)]
    pub pin_path: PathBuf,
    /// The agent's state directory
    #[arg(long, value_name = "DIR", default_value = paths::DEFAULT_STATE_DIR)]
    pub state_dir: PathBuf,
}
