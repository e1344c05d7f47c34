//! Memory of an address table: which class an IPv4 or IPv6 address has, flat in the number of prefixes.
//!
//! The memory is pages of [`PAGE`] bytes, the elements of an array map. First comes a root for each
//! family, indexed by the first 16 bits of the address (as a number, in network order); behind the roots lie nodes. From a
//! root slot on, each node consumes the next 8 bits of the address.
//!
//! A [`Slot`] is 32 bits, the two highest of which say what it is. A reference names a node by the number of
//! its first 16-byte [`UNIT`], counted from the start of the memory; no node crosses a page.

/// Bytes of a page.
pub const PAGE: usize = 1 << 16;
/// Bytes of the unit in which references count, and to which nodes are aligned.
pub const UNIT: usize = 16;
/// Slots of a root: one for each value of an address's first 16 bits.
pub const ROOT_SLOTS: usize = 1 << 16;
/// In a [`Slot`]: the mask of the kind.
pub const SLOT_KIND: u32 = 3 << 30;
/// The slot is a class, in the low 16 bits. Class 0 means that no prefix holds the address.
pub const SLOT_CLASS: u32 = 0;
/// The low 30 bits refer to a [`Node`].
pub const SLOT_NODE: u32 = 1 << 30;
/// The next 8 bits of the address are compared with bits 22 to 29 of the slot: where they are equal the class
/// is in bits 11 to 21, else in bits 0 to 10.
pub const SLOT_OCTET: u32 = 2 << 30;
/// The low 30 bits refer to a [`Compare`].
pub const SLOT_COMPARE: u32 = 3 << 30;
/// Classes below this fit into a slot of kind [`SLOT_OCTET`].
pub const OCTET_CLASSES: u32 = 1 << 11;

/// A slot, see the head of this file.
pub type Slot = u32;

/// What the next 8 bits of the address lead to: where `exceptions` has their bit, the slot behind the node
/// whose number is the count of exceptions below it; else `default`. Behind the node follow its exception slots, in order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Bit n % 64 of word n / 64: value n is an exception.
    pub exceptions: [u64; 4],
    /// By word: exceptions in the words before it.
    pub before: [u8; 4],
    /// Slot of every other value.
    pub default: Slot,
}

/// The whole IPv6 address is compared with a prefix.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compare {
    /// The prefix, most significant half first; bits behind `length` are 0.
    pub prefix: [u64; 2],
    /// Class of addresses in the prefix.
    pub inside: u16,
    /// Class of all others.
    pub outside: u16,
    /// Length of the prefix in bits, 17 to 128.
    pub length: u32,
}

const _: () = assert!(size_of::<Node>() == 40);
const _: () = assert!(size_of::<Compare>() == 24);

/// A table that belongs to one program instance and never changes: the prefixes that rules list.
/// Roots are arrays of [`Slot`].
pub mod fixed {
    use super::{PAGE, ROOT_SLOTS};

    /// Where the IPv4 root begins, in bytes.
    pub const ROOT_V4: usize = 0;
    /// Where the IPv6 root begins.
    pub const ROOT_V6: usize = ROOT_SLOTS * 4;
    /// Where nodes begin.
    pub const NODES: usize = ROOT_SLOTS * 8;
    /// Pages of a table without nodes.
    pub const LEAST_PAGES: usize = NODES / PAGE;
}

/// The table of address sets, shared by all instances, that changes while packets are judged.
///
/// Each root slot is a pair in one `u64`: version 0 in the low half, version 1 in the high half. A packet
/// reads `state.version` once and takes that half of every pair. A change writes nodes that nobody refers to, then the
/// halves that are not in force, and then the version: each packet sees all of a change or nothing of it.
pub mod live {
    use super::{PAGE, ROOT_SLOTS};

    /// Where the IPv4 root begins, in bytes.
    pub const ROOT_V4: usize = 0;
    /// Where the IPv6 root begins.
    pub const ROOT_V6: usize = ROOT_SLOTS * 8;
    /// Where the lists of each class begin: by class a `u64` with one bit a list of address sets.
    pub const CLASSES: usize = ROOT_SLOTS * 16;
    /// Number of classes.
    pub const CLASS_COUNT: usize = 1 << 16;
    /// Where the state begins: the version in force, a `u64` that is 0 or 1.
    pub const STATE: usize = CLASSES + CLASS_COUNT * 8;
    /// Where nodes begin.
    pub const NODES: usize = STATE + PAGE;
    /// Pages of a table without nodes.
    pub const LEAST_PAGES: usize = NODES / PAGE;
}

/// Lists of address sets on one node: one bit of a `u64` each.
pub const MAX_LISTS: usize = 64;
