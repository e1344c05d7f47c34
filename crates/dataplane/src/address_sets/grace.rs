//! The time between two changes: every packet that began before the end of the first must have ended.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
    thread::JoinHandle,
};

use aya_obj::generated::bpf_map_type;

use crate::{
    Error,
    sys::maps::{Definition, map_create, map_put_map},
};

/// Waits in a thread of its own, so that only a change that follows another at once has to wait.
///
/// The kernel promises of an update of a map of maps that, when it returns, no program that began before it runs any
/// more. Other than membarrier(2), it keeps the promise on every machine, those with `nohz_full` included.
#[derive(Debug)]
pub(super) struct Grace {
    maps: Arc<Maps>,
    waiting: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug)]
struct Maps {
    outer: OwnedFd,
    inner: OwnedFd,
}

impl Grace {
    pub fn new() -> Result<Self, Error> {
        let maps = Maps::create().map_err(|source| Error::GracePeriod { source })?;
        Ok(Self { maps: Arc::new(maps), waiting: None })
    }

    /// A change has just ended.
    pub fn begin(&mut self) {
        let maps = Arc::clone(&self.maps);
        self.waiting = Some(std::thread::spawn(move || maps.wait()));
    }

    /// There may be a change now.
    pub fn end(&mut self) -> Result<(), Error> {
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        let waited =
            waiting.join().unwrap_or_else(|_| Err(io::Error::other("the thread that waited has ended")));
        // Once more, and here, where it may be a passing lack of memory.
        waited.or_else(|_| self.maps.wait()).map_err(|source| {
            self.begin();
            Error::GracePeriod { source }
        })
    }
}

impl Maps {
    fn create() -> io::Result<Self> {
        let array = Definition {
            kind: bpf_map_type::BPF_MAP_TYPE_ARRAY,
            value_size: 4,
            entries: 1,
            flags: 0,
            inner: None,
            name: c"sluice_grace",
        };
        let inner = map_create(&array)?;
        let kind = bpf_map_type::BPF_MAP_TYPE_ARRAY_OF_MAPS;
        let outer = map_create(&Definition { kind, inner: Some(inner.as_fd()), ..array })?;
        Ok(Self { outer, inner })
    }

    fn wait(&self) -> io::Result<()> {
        map_put_map(self.outer.as_fd(), 0, self.inner.as_fd())
    }
}
