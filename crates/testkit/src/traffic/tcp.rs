//! Honest TCP: each transaction is a new connection, one request, one response, an orderly end.
//! The server closes first, so that the client never runs out of ports.

use super::pin_this_thread;
use crate::namespace::NetworkNamespace;
use anyhow::{Context as _, Result, anyhow};
use rustix::net::{Shutdown, shutdown};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const REQUEST: [u8; 64] = [b'?'; 64];
const RESPONSE: [u8; 512] = [b'!'; 512];
/// A transaction that takes longer has failed. Two lost SYNs in a row take three seconds.
const LIMIT: Duration = Duration::from_secs(2);
const SERVER_THREADS: usize = 4;

/// Answers requests until dropped.
#[derive(Debug)]
pub struct TcpServer {
    listener: Arc<TcpListener>,
    address: SocketAddr,
    threads: Vec<JoinHandle<Result<()>>>,
}

/// Clients, each doing one transaction after the other. Dropping it stops them.
#[derive(Debug)]
pub struct TcpLoad {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<Vec<Duration>>>>,
    started: Instant,
}

/// What the clients saw.
#[derive(Clone, Debug)]
pub struct TcpReport {
    /// Transactions that got their whole response.
    pub transactions: u64,
    /// Transactions that did not, within two seconds.
    pub failures: u64,
    /// From start to stop.
    pub elapsed: Duration,
    /// One for each transaction that succeeded, sorted.
    pub latencies: Vec<Duration>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    transactions: AtomicU64,
    failures: AtomicU64,
}

impl TcpServer {
    /// Listens on `address` inside the namespace; port 0 takes any. The threads stay on `cpu`, if given.
    pub fn start(namespace: &NetworkNamespace, address: SocketAddr, cpu: Option<usize>) -> Result<Self> {
        let listener =
            namespace.run(|| TcpListener::bind(address)).with_context(|| format!("listen on {address}"))?;
        let (address, listener) = (listener.local_addr()?, Arc::new(listener));
        let serve = |_| {
            let listener = Arc::clone(&listener);
            namespace.spawn("tcp server", move || {
                cpu.map_or(Ok(()), pin_this_thread)?;
                // Accepting fails when the listener is shut down, and only then.
                while let Ok((connection, _)) = listener.accept() {
                    // A client that went away is counted where it matters: by the client.
                    respond(connection).unwrap_or_default();
                }
                Ok(())
            })
        };
        let threads = (0..SERVER_THREADS).map(serve).collect();
        Ok(Self { listener, address, threads })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TcpServer {
    fn drop(&mut self) {
        if let Err(error) = shutdown(&self.listener, Shutdown::Both) {
            eprintln!("could not stop a TCP server: {error}");
            return;
        }
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => eprintln!("a TCP server ended early: {error:#}"),
                Err(_) => eprintln!("a TCP server's thread panicked"),
            }
        }
    }
}

impl TcpLoad {
    /// Starts so many clients inside the namespace. They stay on `cpu`, if given.
    #[must_use]
    pub fn start(
        namespace: &NetworkNamespace,
        server: SocketAddr,
        clients: usize,
        cpu: Option<usize>,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let client = |_| {
            let shared = Arc::clone(&shared);
            namespace.spawn("tcp client", move || {
                cpu.map_or(Ok(()), pin_this_thread)?;
                Ok(transact_until_stopped(server, &shared))
            })
        };
        Self { threads: (0..clients).map(client).collect(), shared, started: Instant::now() }
    }

    /// Transactions that have succeeded so far.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.shared.transactions.load(Ordering::Relaxed)
    }

    /// Transactions that have failed so far.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.shared.failures.load(Ordering::Relaxed)
    }

    /// Stops the clients after the transactions in progress.
    pub fn stop(mut self) -> Result<TcpReport> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let elapsed = self.started.elapsed();
        let mut latencies = Vec::new();
        for thread in self.threads.drain(..) {
            latencies.extend(thread.join().map_err(|_| anyhow!("a TCP client's thread panicked"))??);
        }
        latencies.sort_unstable();
        let failures = self.shared.failures.load(Ordering::Relaxed);
        Ok(TcpReport { transactions: self.transactions(), failures, elapsed, latencies })
    }
}

impl Drop for TcpLoad {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl TcpReport {
    /// Successful transactions a second.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "Counts of one run fit.")]
    pub fn transactions_per_second(&self) -> f64 {
        self.transactions as f64 / self.elapsed.as_secs_f64()
    }

    /// The latency that so many percent of the transactions did not exceed.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        let last = self.latencies.len().checked_sub(1)?;
        self.latencies.get((self.latencies.len() * percent / 100).min(last)).copied()
    }
}

fn transact_until_stopped(server: SocketAddr, shared: &Shared) -> Vec<Duration> {
    let mut latencies = Vec::new();
    while !shared.stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        match transact(server) {
            Ok(()) => {
                latencies.push(started.elapsed());
                shared.transactions.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {
                shared.failures.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    latencies
}

fn transact(server: SocketAddr) -> io::Result<()> {
    let mut connection = TcpStream::connect_timeout(&server, LIMIT)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(LIMIT))?;
    connection.write_all(&REQUEST)?;
    let mut response = Vec::with_capacity(RESPONSE.len());
    connection.read_to_end(&mut response)?;
    if response == RESPONSE { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn respond(mut connection: TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(LIMIT))?;
    let mut request = [0; REQUEST.len()];
    connection.read_exact(&mut request)?;
    connection.write_all(&RESPONSE)
}
