//! Waiting for changes of addresses and default routes. Says only that something may have changed: the reader
//! asks the kernel what is so now.

use std::io;
use std::time::{Duration, Instant};

use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;
use socket2::{SockFilter, SockRef};

use super::burst::Burst;
use super::error::LinksError;
use super::events::{listen, sleep_until};
use super::readable::Readable;
use super::socket::{DATAGRAM, receive};

const RTNLGRP_IPV4_IFADDR: u32 = 5;
const RTNLGRP_IPV4_ROUTE: u32 = 7;
const RTNLGRP_IPV6_IFADDR: u32 = 9;
const RTNLGRP_IPV6_ROUTE: u32 = 11;
const GROUPS: [u32; 4] = [RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE];
const QUIET: Duration = Duration::from_millis(20);
const LIMIT: Duration = Duration::from_millis(200);
const SPACING: Duration = Duration::from_secs(1);

/// Changes of addresses and default routes of one network namespace. A socket of its own: what is lost here
/// must not look like a lost change of a link.
pub struct RoutingEvents {
    socket: Readable<Socket>,
    burst: Burst,
    buffer: Vec<u8>,
}

impl RoutingEvents {
    /// Subscribes in the network namespace of the calling thread, within a Tokio runtime.
    pub fn subscribe() -> Result<Self, LinksError> {
        let socket = listen(NETLINK_ROUTE, GROUPS).map_err(LinksError::Watch)?;
        // Not being able to filter costs wake-ups, and nothing else.
        SockRef::from(socket.get_ref()).attach_filter(&default_routes_only()).ok();
        Ok(Self { socket, burst: Burst::new(QUIET, LIMIT, SPACING), buffer: Vec::with_capacity(DATAGRAM) })
    }

    /// Returns when something has changed, or may have. Loses nothing if it is dropped meanwhile.
    pub async fn changed(&mut self) -> Result<(), LinksError> {
        loop {
            self.drain().map_err(LinksError::Watch)?;
            if self.burst.take(Instant::now()) {
                return Ok(());
            }
            tokio::select! {
                ready = self.socket.readable() => ready.map_err(LinksError::Watch)?,
                () = sleep_until(self.burst.due()) => {}
            }
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        loop {
            let now = Instant::now();
            match receive(self.socket.get_ref(), &mut self.buffer, 0) {
                Ok(_) => self.burst.ordinary(now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Messages were lost: they may have told of a change.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.burst.ordinary(now),
                Err(error) => return Err(error),
            }
            if self.burst.due().is_some_and(|due| due <= now) {
                return Ok(());
            }
        }
    }
}

/// A classic BPF program that lets the kernel keep messages about other than default routes to itself: a router
/// with the routes of the whole Internet has thousands of these a second.
fn default_routes_only() -> [SockFilter; 7] {
    // The program reads big-endian numbers, and the kernel writes the type in its own order.
    let word = |message_type: u16| u32::from(u16::from_be_bytes(message_type.to_ne_bytes()));
    [
        SockFilter::new(LOAD_TWO_BYTES, 0, 0, 4), // nlmsghdr.nlmsg_type
        SockFilter::new(JUMP_IF_EQUAL, 1, 0, word(libc::RTM_NEWROUTE)),
        SockFilter::new(JUMP_IF_EQUAL, 0, 2, word(libc::RTM_DELROUTE)),
        SockFilter::new(LOAD_BYTE, 0, 0, 17), // rtmsg.rtm_dst_len
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "The codes have 16 bits; libc has them wider.")]
const fn code(bits: u32) -> u16 {
    bits as u16
}

const LOAD_TWO_BYTES: u16 = code(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS);
const LOAD_BYTE: u16 = code(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS);
const JUMP_IF_EQUAL: u16 = code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K);
const RETURN: u16 = code(libc::BPF_RET | libc::BPF_K);
