//! An honest UDP stream: numbered datagrams at a steady rate, and the list of those that never arrived.
//! The sink only counts.

use crate::namespace::NetworkNamespace;
use anyhow::{Context as _, Result, anyhow};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Large enough that a receiver without a CPU for a second loses nothing of its own fault.
const RECEIVE_BUFFER: usize = 64 << 20;
/// How often a receiver looks whether it shall stop.
const POLL: Duration = Duration::from_millis(20);
/// What has not arrived so long after the last datagram is lost.
const SILENCE: Duration = Duration::from_millis(500);

/// A stream on its way. Dropping it stops it.
#[derive(Debug)]
pub struct UdpStream {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    sender: Option<JoinHandle<Result<()>>>,
    receiver: Option<JoinHandle<Result<Received>>>,
    all_sent: Arc<AtomicBool>,
}

/// What became of a stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UdpReport {
    /// Datagrams sent; they are numbered from 0.
    pub sent: u64,
    /// The numbers of those that did not arrive.
    pub lost: Vec<u64>,
    /// Datagrams that arrived once more.
    pub duplicates: u64,
}

#[derive(Debug, Default)]
struct Received {
    seen: Vec<bool>,
    distinct: u64,
    duplicates: u64,
}

impl UdpStream {
    /// Sends from `from` to `destination`, an address of `to` with a port that nobody holds.
    pub fn start(
        from: &NetworkNamespace,
        to: &NetworkNamespace,
        destination: SocketAddr,
        packets_per_second: u32,
    ) -> Result<Self> {
        let receiver = to.run(|| bind(destination))?;
        let sender =
            from.run(|| UdpSocket::bind((unspecified(destination), 0))).context("open the sender")?;
        let (stop, all_sent, sent) = (Arc::default(), Arc::default(), Arc::default());
        let (stop_sender, count) = (Arc::clone(&stop), Arc::clone(&sent));
        let (ended, expected) = (Arc::clone(&all_sent), Arc::clone(&sent));
        let rate = packets_per_second.max(1);
        Ok(Self {
            receiver: Some(to.spawn("udp receiver", move || receive(&receiver, &ended, &expected))),
            sender: Some(
                from.spawn("udp sender", move || pace(&sender, destination, rate, &stop_sender, &count)),
            ),
            stop,
            sent,
            all_sent,
        })
    }

    /// Datagrams sent so far.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Stops the sender, waits for what is still on its way, and says what was lost.
    pub fn stop(mut self) -> Result<UdpReport> {
        let received = self.end()?;
        let sent = self.sent();
        let arrived = |number: &u64| {
            usize::try_from(*number).ok().and_then(|index| received.seen.get(index)).is_some_and(|seen| *seen)
        };
        let lost = (0..sent).filter(|number| !arrived(number)).collect();
        Ok(UdpReport { sent, lost, duplicates: received.duplicates })
    }

    fn end(&mut self) -> Result<Received> {
        self.stop.store(true, Ordering::Relaxed);
        let sender = self.sender.take().map_or(Ok(Ok(())), JoinHandle::join);
        self.all_sent.store(true, Ordering::Relaxed);
        let receiver = self.receiver.take().map_or(Ok(Ok(Received::default())), JoinHandle::join);
        sender.map_err(|_| anyhow!("the sender's thread panicked"))??;
        receiver.map_err(|_| anyhow!("the receiver's thread panicked"))?
    }
}

impl Drop for UdpStream {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("{error:#}");
        }
    }
}

fn bind(address: SocketAddr) -> Result<UdpSocket> {
    let socket = UdpSocket::bind(address).with_context(|| format!("bind UDP {address}"))?;
    set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER).context("enlarge the receive buffer")?;
    socket.set_read_timeout(Some(POLL))?;
    Ok(socket)
}

fn unspecified(like: SocketAddr) -> IpAddr {
    if like.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

fn pace(socket: &UdpSocket, to: SocketAddr, rate: u32, stop: &AtomicBool, sent: &AtomicU64) -> Result<()> {
    let started = Instant::now();
    for number in 0u64.. {
        let due = Duration::from_nanos(number.saturating_mul(1_000_000_000) / u64::from(rate));
        sleep(due.saturating_sub(started.elapsed()));
        if stop.load(Ordering::Relaxed) {
            break;
        }
        socket
            .send_to(&number.to_be_bytes(), to)
            .with_context(|| format!("send datagram {number} to {to}"))?;
        sent.store(number + 1, Ordering::Relaxed);
    }
    Ok(())
}

fn receive(socket: &UdpSocket, all_sent: &AtomicBool, sent: &AtomicU64) -> Result<Received> {
    let mut received = Received::default();
    let mut last = Instant::now();
    loop {
        let ended = all_sent.load(Ordering::Relaxed);
        if ended && (received.distinct == sent.load(Ordering::Relaxed) || last.elapsed() > SILENCE) {
            return Ok(received);
        }
        let mut number = [0; 8];
        match socket.recv(&mut number) {
            Ok(8) => {
                last = Instant::now();
                received.note(u64::from_be_bytes(number));
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error).context("receive the stream"),
        }
    }
}

impl Received {
    fn note(&mut self, number: u64) {
        let Ok(index) = usize::try_from(number) else {
            return;
        };
        if index >= self.seen.len() {
            self.seen.resize(index + 1, false);
        }
        if self.seen[index] {
            self.duplicates += 1;
        } else {
            self.seen[index] = true;
            self.distinct += 1;
        }
    }
}

/// Counts the datagrams that reach one address. Dropping it stops it.
#[derive(Debug)]
pub struct UdpSink {
    received: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl UdpSink {
    /// Binds `address` inside the namespace and starts to count.
    pub fn start(namespace: &NetworkNamespace, address: SocketAddr) -> Result<Self> {
        let socket = namespace.run(|| bind(address))?;
        let (received, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, ended) = (Arc::clone(&received), Arc::clone(&stop));
        let thread = namespace.spawn("udp sink", move || count_until_stopped(&socket, &count, &ended));
        Ok(Self { received, stop, thread: Some(thread) })
    }

    /// Datagrams so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl Drop for UdpSink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => {}
            Some(Ok(Err(error))) => eprintln!("a UDP sink ended early: {error:#}"),
            Some(Err(_)) => eprintln!("a UDP sink's thread panicked"),
        }
    }
}

fn count_until_stopped(socket: &UdpSocket, count: &AtomicU64, stop: &AtomicBool) -> Result<()> {
    while !stop.load(Ordering::Relaxed) {
        match socket.recv(&mut [0; 1]) {
            Ok(_) => {
                count.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error).context("receive"),
        }
    }
    Ok(())
}
