//! Byte slices as frames.

use sluice_ebpf::{
    flow::Flow,
    parse::{Frame, PADDING, Wire, parse},
};

/// A whole frame.
pub struct Bytes<'a>(pub &'a [u8]);

impl Frame for Bytes<'_> {
    fn read<T: Wire>(&self, offset: usize) -> Option<T> {
        let bytes = self.0.get(offset..)?.get(..size_of::<T>())?;
        // SAFETY: the slice has the size of a `T`, and any bit pattern is a `T`.
        Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    fn holds(&self, end: usize) -> bool {
        end <= self.0.len()
    }

    fn rest(&self, offset: usize) -> Option<usize> {
        self.0.len().checked_sub(offset)
    }
}

/// The first bytes of a frame, as the program reads them in place; see `Head` in `src/context.rs`.
pub struct Head<'a> {
    pub bytes: &'a [u8],
    /// Bytes of the head; for a jumbo frame bytes of the frame.
    pub length: usize,
}

impl Frame for Head<'_> {
    fn read<T: Wire>(&self, offset: usize) -> Option<T> {
        Bytes(self.bytes).read(offset)
    }

    fn holds(&self, end: usize) -> bool {
        self.length.wrapping_sub(end) <= PADDING
    }

    fn rest(&self, _: usize) -> Option<usize> {
        None
    }
}

/// Parses a whole frame.
pub fn parsed(frame: &[u8]) -> Flow {
    parse(&Bytes(frame))
}
