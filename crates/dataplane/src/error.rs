//! What can go wrong, by cause.

use std::{
    io,
    path::{Path, PathBuf},
};

/// A failure of the data plane.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The pin path lies outside any BPF file system.
    #[error("{path}: not in a BPF file system; mount one with `mount -t bpf bpf /sys/fs/bpf`")]
    NotBpffs {
        /// The pin path asked for.
        path: PathBuf,
    },
    /// The BPF file system is absent and could not be mounted.
    #[error(
        "{path}: cannot mount the BPF file system: {source}; this needs CAP_SYS_ADMIN, or a node that mounts it"
    )]
    Mount {
        /// The mount point.
        path: PathBuf,
        /// Of mount(2).
        source: io::Error,
    },
    /// Another process works on the pins.
    #[error("{path}: another sluice process holds this directory; stop it first")]
    InUse {
        /// The pin path.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The rules could not be brought into the form that the program reads.
    #[error("the rules do not fit into a program: {0}")]
    Compile(String),
    /// The kernel refused to attach the program.
    #[error("BPF_LINK_CREATE on interface {ifindex}: {source}")]
    Attach {
        /// The interface.
        ifindex: u32,
        /// The kernel's answer, of which the errno says why.
        source: io::Error,
    },
    /// The kernel refused to swap the program of a link.
    #[error("BPF_LINK_UPDATE on interface {ifindex}: {source}")]
    Swap {
        /// The interface.
        ifindex: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The new program is in force, but what belongs to the old one could not be put away.
    #[error("the new program is in force, but: {source}")]
    Leftover {
        /// What could not be done.
        source: Box<Error>,
    },
    /// The program was taken off to attach it in another mode, and could not be put back.
    #[error("interface {ifindex} lost its program on the way to another mode: {source}")]
    Lost {
        /// The interface.
        ifindex: u32,
        /// Why it could not be put back.
        source: Box<Error>,
    },
    /// Something is pinned for the interface that should have been adopted.
    #[error("{path}: a link is pinned there already; it is left alone")]
    AlreadyPinned {
        /// The interface's folder.
        path: PathBuf,
    },
    /// A command on a link failed.
    #[error("{command} of the link on interface {ifindex}: {source}")]
    Link {
        /// The bpf(2) command.
        command: &'static str,
        /// The interface.
        ifindex: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The program could not be loaded.
    #[error("cannot load the BPF program: {0}")]
    Load(#[from] aya::EbpfError),
    /// The program could not be loaded or asked about.
    #[error("cannot load the BPF program: {0}")]
    Program(#[from] aya::programs::ProgramError),
    /// A map could not be made, read or written.
    #[error("map of interface {ifindex}: {source}")]
    Map {
        /// The interface.
        ifindex: u32,
        /// The cause.
        source: aya::maps::MapError,
    },
    /// A map could not be pinned.
    #[error("cannot pin {path}: {source}")]
    Pin {
        /// Where.
        path: PathBuf,
        /// The cause.
        source: aya::pin::PinError,
    },
    /// The built-in object lacks what the code expects of it.
    #[error("the built-in object has no program `{0}`: this binary is damaged, install it again")]
    NoProgram(&'static str),
    /// More rule names than an interface has counters.
    #[error("interface {ifindex}: no counter left for rule {rule}")]
    NoRuleSlot {
        /// The interface.
        ifindex: u32,
        /// The rule, as policy/rule.
        rule: String,
    },
    /// The kernel refused the TC program that applies marks.
    #[error("{command} (tcx, ingress) on interface {ifindex}: {source}")]
    MarkLink {
        /// The bpf(2) command.
        command: &'static str,
        /// The interface.
        ifindex: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refused the TC filter that applies marks, or its qdisc.
    #[error("TC filter on interface {ifindex}: {source}")]
    MarkFilter {
        /// The interface.
        ifindex: u32,
        /// The kernel's answer.
        source: crate::links::LinksError,
    },
    /// The memory of the address sets could not be made.
    #[error("cannot make the table of address sets with {bytes} bytes of memory: {source}")]
    AddressTable {
        /// Its size.
        bytes: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Between two changes of address sets, packets that began before the first must have ended.
    #[error("cannot wait until packets have left the table of address sets: {source}")]
    GracePeriod {
        /// The kernel's answer.
        source: io::Error,
    },
    /// More prefixes than a node may have.
    #[error(
        "CapacityExceeded: the address sets of this node would hold {needed} prefixes, and the limit is {limit}: \
         name fewer or smaller sets in rules; until then the sets stay as they were"
    )]
    CapacityExceeded {
        /// How many there would be.
        needed: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The table cannot tell so many combinations of sets apart.
    #[error(transparent)]
    AddressClasses(#[from] sluice_prefix_table::live::Refused),
    /// Netlink failed.
    #[error(transparent)]
    Links(#[from] crate::links::LinksError),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { action, path: path.to_path_buf(), source }
    }

    /// The errno of an attach that the kernel refused.
    #[must_use]
    pub fn attach_errno(&self) -> Option<i32> {
        match self {
            Self::Attach { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}
