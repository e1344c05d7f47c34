//! A file descriptor that wakes a task when there is something to read.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use netlink_sys::Socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Wakes for reading only. The owner of the descriptor lives inside and cannot be exchanged.
#[derive(Debug)]
pub struct Readable<T: AsRawFd>(AsyncFd<T>);

impl Readable<OwnedFd> {
    /// Takes a non-blocking descriptor, within a Tokio runtime.
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        // SAFETY: an OwnedFd is open, stays the same, and is closed only when it is dropped.
        unsafe { Self::register(descriptor) }
    }
}

impl Readable<Socket> {
    pub(super) fn from_socket(socket: Socket) -> io::Result<Self> {
        socket.set_non_blocking(true)?;
        // SAFETY: a netlink socket owns its descriptor just as an OwnedFd does.
        unsafe { Self::register(socket) }
    }
}

impl<T: AsRawFd> Readable<T> {
    /// # Safety
    /// `owner` owns its descriptor, and names the same one until it is dropped.
    unsafe fn register(owner: T) -> io::Result<Self> {
        // SAFETY: promised by the caller; no method here gives the owner away or out for writing.
        let registered = unsafe { AsyncFd::register_with_interest(owner, Interest::READABLE) };
        Ok(Self(registered?))
    }

    /// The owner, to read from.
    pub fn get_ref(&self) -> &T {
        self.0.get_ref()
    }

    /// Returns when there is something to read, or perhaps was. The caller then reads until there is no
    /// more: readiness is cleared here, before that reading, so that nothing falls between the two.
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}
