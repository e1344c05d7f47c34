//! Honest skips: a test names the feature of the machine that it needs. Where the feature is missing the
//! test says so and counts as skipped, and where the machine must have it (`TESTKIT_NO_SKIP=1`) it fails.

use crate::namespace::NetworkNamespace;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::num::NonZero;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::thread::{self, available_parallelism};
use std::{env, io};

/// A file that gets one line for each skipped test, for whoever sums up the run.
pub const SKIP_LOG: &str = "TESTKIT_SKIP_LOG";
/// Set to `1` where every feature must be there: a skip becomes a failure.
pub const NO_SKIP: &str = "TESTKIT_NO_SKIP";

/// Something that not every machine has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Feature {
    /// User id 0.
    Root,
    /// The right to make and enter network namespaces.
    NetworkNamespaces,
    /// The right to use the `bpf` system call.
    Bpf,
    /// BPF programs at a device's traffic control without a qdisc (Linux 6.6).
    Tcx,
    /// At least so many CPUs.
    Cpus(usize),
    /// Virtual devices of a kind, such as `vxlan`.
    DeviceKind(&'static str),
    /// A program in `$PATH` or in the system's folders.
    Program(&'static str),
}

impl fmt::Display for Feature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => formatter.write_str("root"),
            Self::NetworkNamespaces => formatter.write_str("the right to make network namespaces"),
            Self::Bpf => formatter.write_str("the right to use the bpf system call"),
            Self::Tcx => formatter.write_str("tcx, which came with Linux 6.6"),
            Self::Cpus(count) => write!(formatter, "{count} CPUs"),
            Self::DeviceKind(kind) => write!(formatter, "devices of kind {kind}"),
            Self::Program(name) => write!(formatter, "the program {name}"),
        }
    }
}

impl Feature {
    /// Tries the feature, once a call.
    #[must_use]
    pub fn is_there(self) -> bool {
        match self {
            Self::Root => rustix::process::geteuid().is_root(),
            Self::NetworkNamespaces => may_enter_network_namespaces(),
            Self::Bpf => may_use_bpf(),
            Self::Tcx => has_tcx(),
            Self::Cpus(count) => available_parallelism().is_ok_and(|cpus| cpus.get() >= count),
            Self::DeviceKind(kind) => can_make(kind),
            Self::Program(name) => find_program(name).is_some(),
        }
    }
}

/// Whether the test may go on. If not, the caller returns at once: the skip is already reported.
///
/// # Panics
/// If the feature is missing and `TESTKIT_NO_SKIP=1`.
#[must_use = "a test must return when the feature is missing"]
pub fn require(feature: Feature) -> bool {
    feature.is_there() || {
        skip(&feature);
        false
    }
}

fn skip(missing: &dyn fmt::Display) {
    let test = test_name();
    assert!(
        env::var_os(NO_SKIP).is_none_or(|value| value != "1"),
        "{test} needs {missing}, and {NO_SKIP} is set"
    );
    println!("SKIP {test}: {missing}");
    if let Some(path) = env::var_os(SKIP_LOG) {
        // One write of one short line in append mode: parallel tests do not mix their lines.
        let line = format!("{}\t{test}\t{missing}\n", env::var("NEXTEST_BINARY_ID").unwrap_or_default());
        let mut log = File::options().create(true).append(true).open(path).expect("open the log of skips");
        log.write_all(line.as_bytes()).expect("write the log of skips");
    }
}

fn test_name() -> String {
    env::var("NEXTEST_TEST_NAME")
        .ok()
        .or_else(|| thread::current().name().map(str::to_owned))
        .unwrap_or_else(|| "unnamed test".to_owned())
}

/// Entering the namespace that the process is in already asks for the same right as entering another one.
fn may_enter_network_namespaces() -> bool {
    let enter = || -> io::Result<()> {
        let own = File::open("/proc/thread-self/ns/net")?;
        move_into_link_name_space(own.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    };
    find_program("ip").is_some() && thread::spawn(enter).join().is_ok_and(|result| result.is_ok())
}

#[allow(unsafe_code, reason = "rustix has no bpf system call.")]
fn may_use_bpf() -> bool {
    const BPF_PROG_GET_NEXT_ID: libc::c_long = 11;
    let mut attributes = [0u32; 4];
    // SAFETY: `attributes` is a writable buffer of the size given, large enough for this command, and
    // lives until the call returns.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_PROG_GET_NEXT_ID, attributes.as_mut_ptr(), size_of_val(&attributes))
    };
    // ENOENT: allowed, but not one program is loaded.
    result == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::ENOENT)
}

/// Asks which programs the loopback device runs at ingress: `EINVAL` where nobody knows of such programs.
#[allow(unsafe_code, reason = "rustix has no bpf system call.")]
fn has_tcx() -> bool {
    const BPF_PROG_QUERY: libc::c_long = 16;
    const LOOPBACK: u32 = 1;
    const BPF_TCX_INGRESS: u32 = 46;
    let mut attributes = [0u32; 16];
    attributes[..2].copy_from_slice(&[LOOPBACK, BPF_TCX_INGRESS]);
    // SAFETY: `attributes` is a writable buffer of the size given, holds no address, and lives until the
    // call returns.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_PROG_QUERY, attributes.as_mut_ptr(), size_of_val(&attributes))
    };
    result == 0
}

/// Makes such a device in a namespace of its own, which goes with it.
fn can_make(kind: &str) -> bool {
    let more = if kind == "vxlan" { "id 1 dstport 4789" } else { "" };
    let make = format!("link add probe type {kind} {more}");
    NetworkNamespace::new("probe").is_ok_and(|namespace| namespace.ip(make.trim_end()).is_ok())
}

/// `$PATH` with the system's folders at its end: an ordinary user's often lacks them.
pub(crate) fn search_path() -> String {
    format!("{}:/usr/local/sbin:/usr/sbin:/sbin", env::var("PATH").unwrap_or_default())
}

/// Where a program is, if it is there.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    env::split_paths(&search_path()).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The number of CPUs that this process may use.
#[must_use]
pub fn cpus() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}
