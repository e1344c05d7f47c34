//! Why a command could not be carried out, with what to do next and the exit code.

use std::{io, path::PathBuf};

use sluice_policy::cidr_set::feed::FeedError;

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unreachable(#[from] sluice_ipc::Error),
    #[error("the agent on {} did not answer within {seconds} seconds", .socket.display())]
    Silent { socket: PathBuf, seconds: u64 },
    #[error("the agent on {} answered with an error: {}", .socket.display(), .source.message())]
    Refused { socket: PathBuf, source: Box<tonic::Status> },
    #[error("the connection to the agent on {} was lost", .socket.display())]
    Lost { socket: PathBuf, source: Box<tonic::Status> },
    #[error("top draws on a terminal, and there is none")]
    NoTerminal,
    #[error("cannot draw on the terminal")]
    Terminal { source: io::Error },
    #[error("cannot write the output")]
    Output { source: io::Error },
    #[error("cannot start the input and output machinery")]
    Runtime { source: io::Error },
    #[error("cannot write this as JSON")]
    Json { source: serde_json::Error },
    #[error("cannot write this as YAML")]
    Yaml { source: serde_saphyr::SerializeError },
    #[error("cannot read facts about links from {}: {message}", .path.display())]
    Links { path: PathBuf, message: String },
    #[error("the packet may arrive on {}", .known.join(", "))]
    WhichInterface { known: Vec<String> },
    #[error("no policy is on {}", .name.as_deref().unwrap_or("any interface"))]
    NoInterface { name: Option<String>, known: Vec<String> },
    #[error("an agent runs and works on {}: it would attach everything again", .pin_path.display())]
    AgentRuns { pin_path: PathBuf, stop: String },
    #[error(transparent)]
    Dataplane(#[from] sluice_dataplane::Error),
    #[error("cannot look at {}", .path.display())]
    Look { path: PathBuf, source: io::Error },
    #[error("cannot read {}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} has more than {limit} bytes, which is more than is read", .path.display())]
    FeedTooLarge { path: PathBuf, limit: usize },
    #[error("{} is not used: {}: {source}", .path.display(), .source.reason())]
    Feed { path: PathBuf, source: Box<FeedError> },
    #[error("{} is in the way: {why}", .path.display())]
    NotAShard { path: PathBuf, why: String },
    #[error("the label {key} is set by this command itself")]
    ReservedLabel { key: &'static str },
    #[error("cannot remove {}", .path.display())]
    Remove { path: PathBuf, source: io::Error },
}

impl Error {
    /// What to do next, in words. Empty when the error says all there is.
    pub fn remedy(&self) -> &str {
        match self {
            Self::Unreachable(error) => error.remedy(),
            Self::Silent { .. } => "look at the agent's log; it may be stuck, or the node overloaded",
            Self::Refused { .. } => "look at the agent's log",
            Self::Lost { .. } => "the agent has just stopped: look at its log, and ask again when it runs",
            Self::NoTerminal => {
                "run it in a terminal; for scripts use `sluicectl status -o json`, and over ssh `ssh -t`"
            }
            Self::Terminal { .. } => "use `sluicectl status` instead",
            Self::Links { .. } => {
                "write a list of devices under the key links, as `links: [{name: eth0, driver: ixgbe}]`"
            }
            Self::WhichInterface { .. } => "choose one with --interface",
            Self::NoInterface { known, .. } if known.is_empty() => "name files with policies that select it",
            Self::NoInterface { .. } => "leave --interface out to see which there are",
            Self::AgentRuns { stop, .. } => stop,
            Self::Remove { source, .. } | Self::Dataplane(sluice_dataplane::Error::File { source, .. })
                if source.kind() == io::ErrorKind::IsADirectory =>
            {
                "this directory is not Sluice's and is kept; see what it is, and remove it yourself"
            }
            Self::Feed { source, .. } => match **source {
                FeedError::EmptyFeed { .. } => {
                    "look at the feed: it may have moved; if an empty list is meant, give --allow-empty"
                }
                ref other => other.remedy(),
            },
            Self::FeedTooLarge { .. } => "split it into several lists",
            Self::NotAShard { .. } => "move the file away, or choose another --name",
            Self::ReservedLabel { .. } => {
                "leave it out, and give the list the --name that the label is to have"
            }
            Self::Read { .. } | Self::Write { .. } => "check the path and its permissions",
            Self::Look { .. } | Self::Remove { .. } => "run this as root",
            Self::Dataplane(sluice_dataplane::Error::File { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                "run this as root"
            }
            Self::Dataplane(_)
            | Self::Output { .. }
            | Self::Runtime { .. }
            | Self::Json { .. }
            | Self::Yaml { .. } => "",
        }
    }

    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Unreachable(_) | Self::Silent { .. } | Self::Lost { .. } => 2,
            _ => 1,
        }
    }
}
