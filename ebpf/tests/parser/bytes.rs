//! Byte slices as frames.

use sluice_ebpf::{
    flow::Flow,
    parse::{Frame, Wire, parse},
};

/// A whole frame.
pub struct Bytes<'a>(pub &'a [u8]);

impl Frame for Bytes<'_> {
    fn read<T: Wire>(&self, offset: usize) -> Option<T> {
        let bytes = self.0.get(offset..)?.get(..size_of::<T>())?;
        // SAFETY: the slice has the size of a `T`, and any bit pattern is a `T`.
        Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    fn length(&self) -> usize {
        self.0.len()
    }
}

/// A frame of which only the first bytes can be read in place, as with a jumbo frame in a driver.
pub struct Head<'a> {
    pub frame: &'a [u8],
    pub linear: usize,
}

impl Frame for Head<'_> {
    fn read<T: Wire>(&self, offset: usize) -> Option<T> {
        Bytes(&self.frame[..self.linear]).read(offset)
    }

    fn length(&self) -> usize {
        self.frame.len()
    }
}

/// Parses a whole frame.
pub fn parsed(frame: &[u8]) -> Flow {
    parse(&Bytes(frame))
}
