//! A flood of ready-made frames from one thread, at the highest rate that its CPU gives or at a set rate.
//! One thread with `sendmmsg` past the queueing discipline takes a veth pair with a receive CPU of its
//! own to its limit, and goes on when the other end's ring is full.

use crate::namespace::NetworkNamespace;
use crate::packet_socket::PacketSocket;
use anyhow::{Context as _, Result, anyhow};
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, yield_now};
use std::time::{Duration, Instant};

/// Frames that one round sends; whole frames are repeated to fill it.
const ROUND: usize = 64;

/// A flood to be started.
#[derive(Clone, Debug)]
pub struct Flood {
    frames: Vec<Vec<u8>>,
    cpu: Option<usize>,
    packets_per_second: Option<u64>,
}

/// A flood on its way. Dropping it stops it.
#[derive(Debug)]
pub struct RunningFlood {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<()>>>,
    started: Instant,
}

/// What a flood did.
#[derive(Clone, Copy, Debug)]
pub struct FloodReport {
    /// Frames that the device took.
    pub sent: u64,
    /// Times that the device had no room.
    pub refused: u64,
    /// From start to stop.
    pub elapsed: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    sent: AtomicU64,
    refused: AtomicU64,
}

impl FloodReport {
    /// Frames taken a second.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "Counts of one run fit.")]
    pub fn packets_per_second(&self) -> f64 {
        self.sent as f64 / self.elapsed.as_secs_f64()
    }
}

impl Flood {
    /// A flood of these frames, in turn.
    #[must_use]
    pub fn new(frames: Vec<Vec<u8>>) -> Self {
        Self { frames, cpu: None, packets_per_second: None }
    }

    /// The CPU that sends.
    #[must_use]
    pub fn on_cpu(mut self, cpu: usize) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Holds the flood at this rate; a flood without a rate takes the whole CPU.
    #[must_use]
    pub fn at_rate(mut self, packets_per_second: u64) -> Self {
        self.packets_per_second = Some(packets_per_second.max(1));
        self
    }

    /// Starts to send through `device`.
    pub fn start(self, namespace: &NetworkNamespace, device: &str) -> Result<RunningFlood> {
        let socket = namespace.run(|| PacketSocket::open(device))?;
        socket.bypass_queueing()?;
        let shared = Arc::new(Shared::default());
        let in_thread = Arc::clone(&shared);
        let started = Instant::now();
        let thread = namespace.spawn("flood", move || self.send_until_stopped(&socket, &in_thread, started));
        Ok(RunningFlood { shared, thread: Some(thread), started })
    }

    fn send_until_stopped(&self, socket: &PacketSocket, shared: &Shared, started: Instant) -> Result<()> {
        if let Some(cpu) = self.cpu {
            super::pin_this_thread(cpu).with_context(|| format!("keep the flood on CPU {cpu}"))?;
        }
        let repeated = ROUND.next_multiple_of(self.frames.len().max(1));
        let round: Vec<_> =
            self.frames.iter().cycle().take(repeated).map(|frame| IoSlice::new(frame)).collect();
        let mut next = 0;
        while !shared.stop.load(Ordering::Relaxed) {
            let allowed = self.allowed(shared.sent.load(Ordering::Relaxed), started);
            if allowed == 0 {
                sleep(Duration::from_micros(200));
                continue;
            }
            let end = round.len().min(next + ROUND.min(allowed));
            let sent = socket.send(&round[next..end]).context("send the flood")?;
            shared.sent.fetch_add(sent.taken as u64, Ordering::Relaxed);
            shared.refused.fetch_add(sent.refused.into(), Ordering::Relaxed);
            next = (next + sent.taken) % round.len();
        }
        Ok(())
    }

    /// How many frames may be sent now.
    fn allowed(&self, sent: u64, started: Instant) -> usize {
        let Some(rate) = self.packets_per_second else {
            return ROUND;
        };
        let due = started.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000;
        usize::try_from(due.saturating_sub(u128::from(sent))).unwrap_or(ROUND)
    }
}

impl RunningFlood {
    /// Frames that the device has taken so far.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// Stops the flood; an error if it ended early.
    pub fn stop(mut self) -> Result<FloodReport> {
        let ended = self.end();
        let elapsed = self.started.elapsed();
        ended?;
        Ok(FloodReport { sent: self.sent(), refused: self.shared.refused.load(Ordering::Relaxed), elapsed })
    }

    fn end(&mut self) -> Result<()> {
        self.shared.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(ended) => ended.map_err(|_| anyhow!("the flood's thread panicked"))?,
            None => Ok(()),
        }
    }
}

impl Drop for RunningFlood {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("{error:#}");
        }
    }
}

/// Sends each frame once, in order; waits while the device is full.
pub fn send(namespace: &NetworkNamespace, device: &str, frames: &[Vec<u8>]) -> Result<()> {
    let socket = namespace.run(|| PacketSocket::open(device))?;
    let slices: Vec<_> = frames.iter().map(|frame| IoSlice::new(frame)).collect();
    let mut next = 0;
    while next < slices.len() {
        let sent = socket.send(&slices[next..]).with_context(|| format!("send frame {next}"))?;
        next += sent.taken;
        if sent.refused {
            yield_now();
        }
    }
    Ok(())
}
