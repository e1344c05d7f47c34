//! Why a command could not be carried out, with what to do next and the exit code.

use std::{io, path::PathBuf};

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unreachable(#[from] sluice_ipc::Error),
    #[error("the agent on {} did not answer within {seconds} seconds", .socket.display())]
    Silent { socket: PathBuf, seconds: u64 },
    #[error("the agent on {} answered with an error: {}", .socket.display(), .source.message())]
    Refused {
        socket: PathBuf,
        source: Box<tonic::Status>,
    },
    #[error("the connection to the agent on {} was lost", .socket.display())]
    Lost {
        socket: PathBuf,
        source: Box<tonic::Status>,
    },
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
    Yaml { source: serde_norway::Error },
}

impl Error {
    /// What to do next, in words. Empty when the error says all there is.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Unreachable(error) => error.remedy(),
            Self::Silent { .. } => "look at the agent's log; it may be stuck, or the node overloaded",
            Self::Refused { .. } => "look at the agent's log",
            Self::Lost { .. } => "the agent has just stopped: look at its log, and ask again when it runs",
            Self::NoTerminal => {
                "run it in a terminal; for scripts use `sluicectl status -o json`, and over ssh `ssh -t`"
            }
            Self::Terminal { .. } => "use `sluicectl status` instead",
            Self::Output { .. } | Self::Runtime { .. } | Self::Json { .. } | Self::Yaml { .. } => "",
        }
    }

    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Unreachable(_) | Self::Silent { .. } | Self::Lost { .. } => 2,
            _ => 1,
        }
    }
}
