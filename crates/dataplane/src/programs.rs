//! What the kernel says of programs, ours and others'.

use aya::sys::{Stats, enable_stats};
use rustix::fd::{AsFd as _, OwnedFd};

use crate::{Error, sys};

/// The name of the loaded program with this id. `None` if the kernel does not tell: the program is
/// gone, or we lack `CAP_SYS_ADMIN`, which opening by id needs.
#[must_use]
pub fn program_name(id: u32) -> Option<String> {
    let program = sys::program_by_id(id).ok()?;
    sys::program_name(program.as_fd()).ok()
}

/// Keeps the kernel's run statistics on (they cost every BPF program some nanoseconds a run).
#[derive(Debug)]
pub struct RunStatisticsGuard {
    _enabled: OwnedFd,
}

/// `BPF_ENABLE_STATS`: program run time and counts move until the guard is dropped.
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`.
pub fn enable_run_statistics() -> Result<RunStatisticsGuard, Error> {
    let enabled = enable_stats(Stats::RunTime).map_err(aya::programs::ProgramError::from)?;
    Ok(RunStatisticsGuard { _enabled: enabled })
}
