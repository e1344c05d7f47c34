//! The memory of the live table: a BPF array map of pages, mapped into this process. Packets read it while we write.

use std::{
    ffi::c_void,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use aya_obj::generated::bpf_map_type;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use sluice_ebpf_common::prefixes::PAGE;
use sluice_prefix_table::live::Memory;

use crate::{
    Error,
    sys::maps::{BPF_F_MMAPABLE, Definition, map_create},
};

/// A map, and where it lies in our memory.
#[derive(Debug)]
pub(super) struct Mapping {
    map: OwnedFd,
    start: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: the memory belongs to the process, not to a thread, and is written through `&mut self` only.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference only reads, atomically.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// A map of so many pages, all 0.
    pub fn create(pages: usize) -> Result<Self, Error> {
        let bytes = pages.saturating_mul(PAGE);
        Self::with_bytes(bytes).map_err(|source| Error::AddressTable { bytes, source })
    }

    fn with_bytes(bytes: usize) -> std::io::Result<Self> {
        let number = |number: usize| u32::try_from(number).map_err(std::io::Error::other);
        let map = map_create(&Definition {
            kind: bpf_map_type::BPF_MAP_TYPE_ARRAY,
            value_size: number(PAGE)?,
            entries: number(bytes / PAGE)?,
            flags: BPF_F_MMAPABLE,
            inner: None,
            name: c"address_sets",
        })?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an address where nothing is.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &map, 0) }?;
        let start = NonNull::new(start).ok_or_else(|| std::io::Error::other("mapped at address 0"))?;
        Ok(Self { map, start, bytes })
    }

    pub fn map(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The word at `offset`.
    ///
    /// # Panics
    /// Outside the memory or off a multiple of 8: the table would be wrong, and so would everything judged by it.
    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset < self.bytes, "word {offset} of {} bytes", self.bytes);
        // SAFETY: the word lies in the mapping, which lives as long as `self` and is only accessed atomically.
        unsafe { self.start.cast::<AtomicU64>().byte_add(offset).as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        // That it cannot be unmapped costs memory, and nobody can do anything about it.
        unsafe { munmap(self.start.as_ptr(), self.bytes) }.ok();
    }
}

impl Memory for Mapping {
    fn load_u64(&self, offset: usize) -> u64 {
        self.word(offset).load(Ordering::Relaxed)
    }

    fn store_u64(&mut self, offset: usize, value: u64) {
        self.word(offset).store(value, Ordering::Release);
    }
}
