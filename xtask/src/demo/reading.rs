//! What has been counted up to one moment, and what two such moments tell. Every figure is the
//! kernel's or the clients' own count; nothing is estimated.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, setpriority_process};
use sluice_testkit::NetworkNamespace;

/// Counts up to one moment.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// When.
    pub at: Instant,
    /// Honest transactions that succeeded.
    pub transactions: u64,
    /// Honest transactions that failed.
    pub failures: u64,
    /// Flood packets that reached the node's UDP. Nobody listens there, so the kernel counts each one.
    pub reached: u64,
    /// Packets that the program dropped.
    pub dropped: u64,
    /// Frames that the node's device received, dropped ones included.
    pub received: u64,
    /// Processor time of the thread that receives for the device, if the kernel tells.
    pub receive_time: Option<Duration>,
}

/// The time between two readings.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Its first moment.
    pub from: Reading,
    /// Its last moment.
    pub to: Reading,
}

#[allow(clippy::cast_precision_loss, reason = "Counts of one run fit.")]
impl Span {
    /// Honest transactions a second.
    pub fn transactions_per_second(&self) -> f64 {
        (self.to.transactions - self.from.transactions) as f64 / self.seconds()
    }

    /// The share of honest transactions that failed.
    pub fn failed_share(&self) -> f64 {
        let failures = self.to.failures - self.from.failures;
        let all = failures + self.to.transactions - self.from.transactions;
        failures as f64 / all.max(1) as f64
    }

    /// Flood packets that reached the node's stack.
    pub fn reached(&self) -> u64 {
        self.to.reached.saturating_sub(self.from.reached)
    }

    /// Flood packets that the program dropped.
    pub fn dropped(&self) -> u64 {
        self.to.dropped.saturating_sub(self.from.dropped)
    }

    /// Flood packets that arrived a second, wherever they ended.
    pub fn flood_per_second(&self) -> f64 {
        (self.reached() + self.dropped()) as f64 / self.seconds()
    }

    /// Processor time of the receiving thread for each frame received, in nanoseconds.
    pub fn nanoseconds_per_frame(&self) -> Option<f64> {
        let time = self.to.receive_time?.checked_sub(self.from.receive_time?)?;
        let frames = self.to.received.saturating_sub(self.from.received);
        (frames > 0).then(|| time.as_nanos() as f64 / frames as f64)
    }

    fn seconds(&self) -> f64 {
        (self.to.at - self.from.at).as_secs_f64().max(1e-9)
    }
}

/// UDP datagrams to ports that nobody holds, as the namespace has counted them.
pub fn refused_datagrams(namespace: &NetworkNamespace) -> Result<u64> {
    let table = namespace
        .run(|| fs::read_to_string("/proc/thread-self/net/snmp"))
        .context("read the namespace's counters")?;
    no_ports(&table).context("the kernel does not count refused datagrams")
}

fn no_ports(table: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let titles = lines.next()?.split_ascii_whitespace();
    let mut figures = titles.zip(lines.next()?.split_ascii_whitespace());
    figures.find(|(title, _)| *title == "NoPorts")?.1.parse().ok()
}

/// The kernel thread that receives for a device.
#[derive(Clone, Debug)]
pub struct ReceiveThread {
    pid: Pid,
}

impl ReceiveThread {
    /// Finds it by its name.
    pub fn find(device: &str) -> Result<Self> {
        let prefix = format!("napi/{device}-");
        let name = |process: &fs::DirEntry| fs::read_to_string(process.path().join("comm"));
        let process = fs::read_dir("/proc")
            .context("list processes")?
            .flatten()
            .find(|process| name(process).is_ok_and(|name| name.starts_with(&prefix)));
        let pid = process.and_then(|process| process.file_name().to_str()?.parse().ok());
        let pid =
            pid.and_then(Pid::from_raw).with_context(|| format!("no kernel thread receives for {device}"))?;
        Ok(Self { pid })
    }

    /// Lets it run before processes of its CPU, as a soft interrupt does on a device without such a thread.
    pub fn put_first(&self) -> Result<()> {
        setpriority_process(Some(self.pid), -20).context("put the receiving thread first")
    }

    /// Its processor time so far, if the kernel keeps such times.
    pub fn time(&self) -> Option<Duration> {
        let schedule = format!("/proc/{}/schedstat", self.pid.as_raw_nonzero());
        let text = fs::read_to_string(schedule).ok()?;
        text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::{Reading, Span, no_ports};
    use std::time::{Duration, Instant};

    #[test]
    fn refused_datagrams_are_found_by_their_title() {
        let table = "Ip: A B\nIp: 1 2\nUdp: InDatagrams NoPorts InErrors\nUdp: 5 7 9\nUdpLite: NoPorts\n";
        assert_eq!(no_ports(table), Some(7));
        assert_eq!(no_ports("Ip: A\nIp: 1\n"), None);
    }

    #[test]
    fn a_span_divides_by_its_own_length() {
        let from = Reading {
            at: Instant::now(),
            transactions: 10,
            failures: 1,
            reached: 100,
            dropped: 1000,
            received: 2000,
            receive_time: Some(Duration::from_micros(1)),
        };
        let to = Reading {
            at: from.at + Duration::from_millis(500),
            transactions: 29,
            failures: 2,
            reached: 100,
            dropped: 2000,
            received: 4000,
            receive_time: Some(Duration::from_micros(401)),
        };
        let span = Span { from, to };
        assert!((span.transactions_per_second() - 38.0).abs() < 1e-6);
        assert!((span.flood_per_second() - 2000.0).abs() < 1e-6);
        assert_eq!((span.reached(), span.dropped()), (0, 1000));
        assert!((span.failed_share() - 0.05).abs() < 1e-6);
        assert_eq!(span.nanoseconds_per_frame(), Some(200.0));
        let nothing = Span { from, to: from };
        assert_eq!(nothing.nanoseconds_per_frame(), None);
        assert!(nothing.failed_share().abs() < 1e-6);
    }
}
