//! Waiting for changes of links.
//!
//! Says only that something changed: the reader asks the kernel what is so now. Asleep until then.
//! Two things the kernel tells nobody: an alternative name given to a device that is down (its going up
//! is told), and a program attached or detached by a link of the bpf system call.

use std::io;
use std::time::{Duration, Instant};

use netlink_sys::Socket;
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};

use super::burst::Burst;
use super::error::LinksError;
use super::generic::Family;
use super::message::LinkMessage;
use super::readable::Readable;
use super::relevance::{Known, Weight};
use super::socket::{DATAGRAM, NetlinkSocket, messages, receive};

const RTNLGRP_LINK: u32 = 1;
const QUIET: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_millis(50);
/// Storms of starting pods cost at most five readings a second.
const SPACING: Duration = Duration::from_millis(200);

/// Changes of the links of one network namespace.
pub struct LinkEvents {
    route: Readable<Socket>,
    generic: Readable<Socket>,
    ethtool: Option<u16>,
    netdev: Option<u16>,
    known: Known,
    burst: Burst,
    overruns: u64,
    buffer: Vec<u8>,
}

impl LinkEvents {
    /// Subscribes in the network namespace of the calling thread, within a Tokio runtime.
    pub fn subscribe() -> Result<Self, LinksError> {
        let mut lookup = NetlinkSocket::open(NETLINK_GENERIC, "generic netlink")?;
        let ethtool = Family::resolve(&mut lookup, "ethtool")?;
        let netdev = Family::resolve(&mut lookup, "netdev")?;
        let groups = [(&ethtool, "monitor"), (&netdev, "mgmt")];
        let groups = groups.iter().filter_map(|(family, group)| family.as_ref()?.group(group));
        let generic = listen(NETLINK_GENERIC, groups);
        Ok(Self {
            route: listen(NETLINK_ROUTE, [RTNLGRP_LINK]).map_err(LinksError::Watch)?,
            generic: generic.map_err(LinksError::Watch)?,
            ethtool: ethtool.map(|family| family.id),
            netdev: netdev.map(|family| family.id),
            known: Known::default(),
            burst: Burst::new(QUIET, LIMIT, SPACING),
            overruns: 0,
            buffer: Vec::with_capacity(DATAGRAM),
        })
    }

    /// Returns when something about a link has changed, or may have. Loses nothing if it is dropped meanwhile.
    pub async fn changed(&mut self) -> Result<(), LinksError> {
        loop {
            self.drain().map_err(LinksError::Watch)?;
            if self.burst.take(Instant::now()) {
                return Ok(());
            }
            tokio::select! {
                ready = self.route.readable() => ready,
                ready = self.generic.readable() => ready,
                () = sleep_until(self.burst.due()) => Ok(()),
            }
            .map_err(LinksError::Watch)?;
        }
    }

    /// How often messages were lost because the reader was slow. Each time counted as a change.
    #[must_use]
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    fn drain(&mut self) -> io::Result<()> {
        while self.receive(Source::Route)? {}
        while self.receive(Source::Generic)? {}
        Ok(())
    }

    /// Takes one datagram. `false`: there is none, or a report is due first.
    fn receive(&mut self, source: Source) -> io::Result<bool> {
        let socket = match source {
            Source::Route => self.route.get_ref(),
            Source::Generic => self.generic.get_ref(),
        };
        let now = Instant::now();
        match receive(socket, &mut self.buffer, 0) {
            Ok(_) => self.weigh(source, now),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                self.overruns += 1;
                self.known.forget();
                self.burst.urgent(now);
            }
            Err(error) => return Err(error),
        }
        Ok(self.burst.due().is_none_or(|due| due > now))
    }

    fn weigh(&mut self, source: Source, now: Instant) {
        for message in messages(&self.buffer) {
            let weight = match (message, source) {
                // What cannot be read may be anything.
                (Err(_), _) => Weight::Urgent,
                (Ok(message), Source::Route) => link_weight(&mut self.known, &message),
                (Ok(message), Source::Generic) => match Some(message.message_type()) {
                    family if family == self.ethtool => self.known.ethtool(message.payload()),
                    family if family == self.netdev => self.known.netdev(message.payload()),
                    _ => Weight::Nothing,
                },
            };
            match weight {
                Weight::Nothing => {}
                Weight::Ordinary => self.burst.ordinary(now),
                Weight::Urgent => self.burst.urgent(now),
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Route,
    Generic,
}

fn link_weight(known: &mut Known, message: &netlink_packet_core::NetlinkBuffer<&[u8]>) -> Weight {
    let Ok(link) = LinkMessage::parse(message.payload()) else {
        return Weight::Urgent;
    };
    match message.message_type() {
        libc::RTM_NEWLINK => known.appeared_or_changed(&link),
        libc::RTM_DELLINK => known.disappeared(&link),
        _ => Weight::Nothing,
    }
}

pub(super) fn listen(protocol: isize, groups: impl IntoIterator<Item = u32>) -> io::Result<Readable<Socket>> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    for group in groups {
        socket.add_membership(group)?;
    }
    Readable::from_socket(socket)
}

pub(super) async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
