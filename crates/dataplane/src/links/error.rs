//! What can go wrong while links are read or watched.

use std::io;

use netlink_packet_core::DecodeError;

/// Why the links could not be read or watched.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// A socket could not be opened or prepared.
    #[error("cannot open the socket for {what}: {source}")]
    Open {
        /// What the socket is for.
        what: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refused a request, or its answer could not be received.
    #[error("the kernel did not answer {request}: {source}")]
    Request {
        /// The request, by the kernel's name for it.
        request: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The answer is no well-formed netlink.
    #[error("the kernel's answer to {request} cannot be read: {source}")]
    Malformed {
        /// The request, by the kernel's name for it.
        request: &'static str,
        /// Where the reading stopped.
        source: DecodeError,
    },
    /// Devices came and went during every attempt to list them.
    #[error("the list of network devices kept changing while it was read")]
    KeptChanging,
    /// The watching sockets failed.
    #[error("cannot wait for changes of network devices: {0}")]
    Watch(io::Error),
    /// The process is ending.
    #[error("the reading of network devices was cut short")]
    CutShort(#[source] tokio::task::JoinError),
}

impl LinksError {
    /// The kernel's error number, if it answered with one.
    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            Self::Open { source, .. } | Self::Request { source, .. } | Self::Watch(source) => {
                source.raw_os_error()
            }
            Self::Malformed { .. } | Self::KeptChanging | Self::CutShort(_) => None,
        }
    }
}
