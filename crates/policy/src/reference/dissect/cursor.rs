//! A place in a frame, from which bytes are taken one header after the other.

/// What is left of a packet, and where that begins in the frame.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(frame: &'a [u8]) -> Self {
        Self { rest: frame, at: 0 }
    }

    /// Bytes from the start of the frame to here.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes from here to the end.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next `N` bytes, without moving on; nothing if they are not all there.
    pub fn peek<const N: usize>(&self) -> Option<[u8; N]> {
        self.rest.first_chunk().copied()
    }

    /// The next `N` bytes; nothing, and no move, if they are not all there.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.peek()?;
        self.skip(N)?;
        Some(bytes)
    }

    /// Moves on; nothing, and no move, if less is left.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.rest = self.rest.get(count..)?;
        self.at += count;
        Some(())
    }

    /// Takes `count` bytes from here for all there is; nothing, and no change, if less is left.
    pub fn end_after(&mut self, count: usize) -> Option<()> {
        self.rest = self.rest.get(..count)?;
        Some(())
    }
}
