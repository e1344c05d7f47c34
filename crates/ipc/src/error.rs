//! What can go wrong between a client and the agent's socket.

use std::{io, path::PathBuf};

/// What went wrong, and at which path. [`Error::remedy`] says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing at the socket's path.
    #[error("cannot reach the agent: there is no socket at {}", .socket.display())]
    NoSocket {
        /// Where we looked.
        socket: PathBuf,
    },
    /// A socket is there, but nobody listens on it.
    #[error("cannot reach the agent: nothing listens on {}", .socket.display())]
    NobodyListens {
        /// The socket that a dead agent left.
        socket: PathBuf,
    },
    /// The socket belongs to root alone.
    #[error("cannot reach the agent: permission denied on {}", .socket.display())]
    PermissionDenied {
        /// The socket that could not be opened.
        socket: PathBuf,
    },
    /// Any other error of a connection attempt.
    #[error("cannot reach the agent on {}", .socket.display())]
    Connect {
        /// Where we tried.
        socket: PathBuf,
        /// Why it failed.
        source: tonic::transport::Error,
    },
    /// Another process, most likely an agent, listens there already.
    #[error("cannot listen on {}: another agent listens there already", .socket.display())]
    InUse {
        /// The socket in use.
        socket: PathBuf,
    },
    /// What is at the path is no socket, so it is not ours to replace.
    #[error("cannot listen on {}: there is {what} at this path, and it is left alone", .socket.display())]
    NotASocket {
        /// The path.
        socket: PathBuf,
        /// What is there, in words.
        what: &'static str,
    },
    /// The path names no file, or not in a directory.
    #[error("cannot listen on {}: this is not the path of a file", .socket.display())]
    BadPath {
        /// The path.
        socket: PathBuf,
    },
    /// A system call failed while the socket was made.
    #[error("cannot listen on {}: cannot {action}", .socket.display())]
    Listen {
        /// The socket that was to be made.
        socket: PathBuf,
        /// The step, as an infinitive.
        action: &'static str,
        /// The error of the system call.
        source: io::Error,
    },
}

impl Error {
    /// What to do next, in words.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::NoSocket { .. } => {
                "start sluice-agent, or name the socket of the one that runs with --socket PATH"
            }
            Self::NobodyListens { .. } => {
                "the agent that made this socket has stopped: start sluice-agent again"
            }
            Self::PermissionDenied { .. } => "run this as root: the agent's socket is for root only",
            Self::Connect { .. } => "check that a sluice-agent of the same version runs and owns this socket",
            Self::InUse { .. } => "stop the other agent first, or give this one a socket of its own",
            Self::NotASocket { .. } => "move it away, or choose another path for the socket",
            Self::BadPath { .. } => "give the path of a file in a directory, as /run/sluice/agent.sock",
            Self::Listen { .. } => {
                "check that the directory is writable by root and that the path is shorter than 100 bytes"
            }
        }
    }
}
