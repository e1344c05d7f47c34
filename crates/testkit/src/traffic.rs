//! Load for tests, benches and the demo: a flood of frames, honest TCP transactions, an honest UDP stream.
//! It sends only inside namespaces of this kit, and counts what it did rather than what it meant to do.

mod flood;
mod tcp;
mod udp;

pub use flood::{Flood, FloodReport, RunningFlood, send};
pub use tcp::{TcpLoad, TcpReport, TcpServer};
pub use udp::{UdpReport, UdpSink, UdpStream};

use rustix::thread::{CpuSet, sched_setaffinity};

/// Keeps the calling thread on one CPU.
fn pin_this_thread(cpu: usize) -> anyhow::Result<()> {
    anyhow::ensure!(cpu < CpuSet::MAX_CPU, "there is no CPU {cpu}");
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(sched_setaffinity(None, &cpus)?)
}
