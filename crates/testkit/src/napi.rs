//! Moves a device's receive work to one CPU: threaded NAPI, its kernel threads pinned. Without it a
//! veth's frames are received on the CPU of the sender.

use crate::namespace::{NetworkNamespace, run};
use anyhow::{Context as _, Result, ensure};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs;
use std::time::Duration;

pub(crate) fn pin(namespace: &NetworkNamespace, device: &str, cpu: usize) -> Result<()> {
    // A veth has a NAPI context only with GRO on or a program attached: threaded mode is EOPNOTSUPP before.
    namespace.call(&format!("ethtool -K {device} gro on"))?;
    let switch = format!("echo 1 > /sys/class/net/{device}/threaded");
    run(namespace.command_with_own_sys("sh").args(["-c", &switch]))?;
    crate::wait_until(Duration::from_secs(5), "the NAPI threads show in /proc", || {
        !threads(device).is_empty()
    });
    let mut cpus = CpuSet::new();
    ensure!(cpu < CpuSet::MAX_CPU, "there is no CPU {cpu}");
    cpus.set(cpu);
    for thread in threads(device) {
        sched_setaffinity(Some(thread), &cpus)
            .with_context(|| format!("pin {thread:?} of {device} to CPU {cpu}"))?;
    }
    Ok(())
}

/// The kernel threads that receive for `device`. Only the name tells, hence the unique names of devices.
pub(crate) fn threads(device: &str) -> Vec<Pid> {
    let prefix = format!("napi/{device}-");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            fs::read_to_string(entry.path().join("comm")).is_ok_and(|name| name.starts_with(&prefix))
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .collect()
}
