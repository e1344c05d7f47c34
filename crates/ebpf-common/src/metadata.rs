//! The header that carries a mark from the XDP program to the TC program, in the packet's metadata area.
//!
//! The area belongs to whoever wrote last: each writer puts its header in front of what is there. So a
//! reader looks at the start of the area only, and ignores what is not exactly a header of ours.

/// Bytes 0 and 1.
pub const METADATA_MAGIC: u16 = 0x51ce;
/// Version of the layout. A reader ignores every other.
pub const METADATA_VERSION: u8 = 1;
/// The only type there is: a mark to be applied.
pub const METADATA_TYPE_MARK: u8 = 1;
/// Bytes of the header.
pub const METADATA_LENGTH: u8 = 16;
/// `mark` is given.
pub const METADATA_FLAG_MARK: u8 = 1 << 0;
/// `priority` is given.
pub const METADATA_FLAG_PRIORITY: u8 = 1 << 1;

/// The header, 16 bytes. Both programs run on one machine: integers are in its byte order.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Bytes 0 and 1: [`METADATA_MAGIC`].
    pub magic: u16,
    /// Byte 2: [`METADATA_VERSION`].
    pub version: u8,
    /// Byte 3: what the rest is, [`METADATA_TYPE_MARK`]. (`type` is a word of the language.)
    pub kind: u8,
    /// Byte 4: [`METADATA_LENGTH`]; the area may go on behind the header with somebody else's.
    pub length: u8,
    /// Byte 5: which of `mark` and `priority` are given. Readers ignore flags that they do not know.
    pub flags: u8,
    /// Bytes 6 and 7: counter slot of the rule that marked last. For people and tools; no program reads it.
    pub rule: u16,
    /// Bytes 8 to 11: what becomes `skb->mark`. Zero if it is not given.
    pub mark: u32,
    /// Bytes 12 to 15: what becomes `skb->priority`: a priority, or a class as major and minor number.
    /// Zero if it is not given.
    pub priority: u32,
}

const _: () = assert!(size_of::<Metadata>() == METADATA_LENGTH as usize);
const _: () = assert!(align_of::<Metadata>() == 4, "the kernel wants a multiple of four bytes");

impl Metadata {
    /// The header of a rule that gives `mark`, `priority` or both.
    #[inline]
    #[must_use]
    pub const fn new(mark: Option<u32>, priority: Option<u32>, rule: u16) -> Self {
        let mut metadata = Self {
            magic: METADATA_MAGIC,
            version: METADATA_VERSION,
            kind: METADATA_TYPE_MARK,
            length: METADATA_LENGTH,
            flags: 0,
            rule,
            mark: 0,
            priority: 0,
        };
        if let Some(mark) = mark {
            metadata.mark = mark;
            metadata.flags |= METADATA_FLAG_MARK;
        }
        if let Some(priority) = priority {
            metadata.priority = priority;
            metadata.flags |= METADATA_FLAG_PRIORITY;
        }
        metadata
    }

    /// Whether these bytes are a header that this build wrote: by magic, version, type and length.
    #[inline]
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        self.magic == METADATA_MAGIC
            && self.version == METADATA_VERSION
            && self.kind == METADATA_TYPE_MARK
            && self.length == METADATA_LENGTH
    }

    /// What becomes `skb->mark`, if it is given.
    #[inline]
    #[must_use]
    pub const fn mark(&self) -> Option<u32> {
        if self.flags & METADATA_FLAG_MARK == 0 { None } else { Some(self.mark) }
    }

    /// What becomes `skb->priority`, if it is given.
    #[inline]
    #[must_use]
    pub const fn priority(&self) -> Option<u32> {
        if self.flags & METADATA_FLAG_PRIORITY == 0 { None } else { Some(self.priority) }
    }
}

// SAFETY: repr(C), only integers, no padding (the size is asserted above).
#[cfg(feature = "user")]
unsafe impl aya::Pod for Metadata {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_can_be_given() {
        let metadata = Metadata::new(Some(0), None, 3);
        assert_eq!((metadata.mark(), metadata.priority(), metadata.rule), (Some(0), None, 3));
        let metadata = Metadata::new(None, Some(0x0001_0010), 3);
        assert_eq!((metadata.mark(), metadata.priority()), (None, Some(0x0001_0010)));
    }

    #[test]
    fn anything_else_is_not_ours() {
        let ours = Metadata::new(Some(1), Some(2), 3);
        assert!(ours.is_ours());
        assert!(Metadata { flags: 0xff, ..ours }.is_ours(), "a flag of a later build changes nothing");
        for other in [
            Metadata { magic: METADATA_MAGIC.swap_bytes(), ..ours },
            Metadata { version: 0, ..ours },
            Metadata { version: METADATA_VERSION + 1, ..ours },
            Metadata { kind: 0, ..ours },
            Metadata { length: 12, ..ours },
            Metadata { length: 20, ..ours },
        ] {
            assert!(!other.is_ours(), "{other:?}");
        }
    }
}
