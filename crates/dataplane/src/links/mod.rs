//! The network devices of a namespace: what they are now, and when that changes.
//!
//! Reads only; never changes a device and never decides anything about one.

pub(crate) mod attributes;
mod burst;
mod error;
mod ethtool;
mod events;
mod generic;
mod link;
mod message;
mod readable;
mod reader;
mod relevance;
mod routing;
mod routing_events;
pub(crate) mod socket;
mod tunnels;

use std::sync::{Arc, Mutex, PoisonError};

pub use burst::Burst;
pub use error::LinksError;
pub use events::LinkEvents;
pub use link::{AttachedMode, AttachedProgram, AttachedXdp, Channels, Link, Master};
pub use readable::Readable;
pub use routing::{Address, Gateway, Routing};
pub use routing_events::RoutingEvents;

use reader::Reader;

/// Reads the links of one network namespace.
#[derive(Clone)]
pub struct Netlink(Arc<Mutex<Reader>>);

impl Netlink {
    /// Opens the sockets in the network namespace of the calling thread.
    pub fn open() -> Result<Self, LinksError> {
        Ok(Self(Arc::new(Mutex::new(Reader::open()?))))
    }

    /// All links, in the order of their indices.
    pub async fn links(&self) -> Result<Vec<Link>, LinksError> {
        self.ask(Reader::links).await
    }

    /// One link. `None`: there is no such index.
    pub async fn link(&self, ifindex: u32) -> Result<Option<Link>, LinksError> {
        self.ask(move |reader| reader.link(ifindex)).await
    }

    /// The addresses and default routes.
    pub async fn routing(&self) -> Result<Routing, LinksError> {
        self.ask(Reader::routing).await
    }

    /// The kernel answers while it is asked, but may first wait for a device that is being set up: on a
    /// thread of its own, so that nothing else waits with it.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Reader) -> Result<T, LinksError> + Send + 'static,
    ) -> Result<T, LinksError> {
        let reader = Arc::clone(&self.0);
        let answer = tokio::task::spawn_blocking(move || {
            question(&mut reader.lock().unwrap_or_else(PoisonError::into_inner))
        });
        answer.await.map_err(LinksError::CutShort)?
    }
}
