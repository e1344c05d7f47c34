//! The memory of address tables, as the maps of the kernel hold it.

use sluice_ebpf::address::{Page, Pages};
use sluice_ebpf_common::prefixes::PAGE;
use sluice_prefix_table::live;

/// Pages of a table.
#[derive(Default)]
pub struct Memory(Vec<Page>);

impl Memory {
    /// A copy of whole pages.
    pub fn of(bytes: &[u8]) -> Self {
        let (pages, rest) = bytes.as_chunks::<PAGE>();
        assert!(rest.is_empty(), "whole pages");
        Self(pages.iter().map(|page| Page(*page)).collect())
    }
}

impl Pages for Memory {
    fn page(&self, number: usize) -> Option<&Page> {
        self.0.get(number)
    }
}

/// What a live table writes to.
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn new(pages: usize) -> Self {
        Self(vec![0; pages * PAGE])
    }
}

impl live::Memory for Bytes {
    fn load_u64(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(*self.0[offset..].first_chunk().unwrap())
    }

    fn store_u64(&mut self, offset: usize, value: u64) {
        self.0[offset..offset + 8].copy_from_slice(&value.to_ne_bytes());
    }
}
