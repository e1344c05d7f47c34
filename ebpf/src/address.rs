//! Address tables: from an address to its class, one root slot and then a node for each 8 bits that tell
//! prefixes apart. `sluice_ebpf_common::prefixes` has the layout. A page that is not there cannot be asked for
//! by a table that was built right; it reads as class 0.

use sluice_ebpf_common::prefixes::{PAGE, SLOT_CLASS, SLOT_COMPARE, SLOT_KIND, SLOT_NODE, UNIT, fixed, live};

/// Bytes of a node before its exception slots, and where its default slot lies.
const NODE_SLOTS: usize = 40;
const NODE_BEFORE: usize = 32;
const NODE_DEFAULT: usize = 36;
const REFERENCE: u32 = !SLOT_KIND;
/// Nodes on the way through an IPv6 address behind the root.
const STEPS_V6: usize = 14;

/// A page of an address table.
#[repr(C, align(16))]
pub struct Page(pub [u8; PAGE]);

/// The memory of an address table.
pub trait Pages {
    /// The page with this number.
    fn page(&self, number: usize) -> Option<&Page>;
}

impl Page {
    /// The value at `offset` bytes from the start of the memory; the offset is a multiple of its size.
    #[inline(always)]
    fn read<T: crate::parse::Wire>(&self, offset: usize) -> T {
        let at = offset & (PAGE - size_of::<T>());
        // SAFETY: the mask keeps the value inside the page, and any bit pattern is a `T`.
        unsafe { self.0.as_ptr().add(at).cast::<T>().read() }
    }
}

/// An address as a number, most significant half first. An IPv4 address fills the lower 32 bits of `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The first 64 bits.
    pub high: u64,
    /// The last 64 bits.
    pub low: u64,
}

impl Address {
    /// Of the words of an address in memory order.
    #[inline(always)]
    #[must_use]
    pub fn new(version: u8, words: &[u32; 4]) -> Self {
        if version == 4 { Self::v4(words[0]) } else { Self::v6(words) }
    }

    /// Of an IPv4 address in memory order.
    #[inline(always)]
    #[must_use]
    pub fn v4(word: u32) -> Self {
        Self { high: u64::from(u32::from_be(word)), low: 0 }
    }

    /// The words in memory order.
    #[inline(always)]
    #[must_use]
    pub fn words(self, version: u8) -> [u32; 4] {
        if version == 4 {
            return [(self.high as u32).to_be(), 0, 0, 0];
        }
        let halves = |half: u64| [((half >> 32) as u32).to_be(), (half as u32).to_be()];
        let ([one, two], [three, four]) = (halves(self.high), halves(self.low));
        [one, two, three, four]
    }

    /// Of the four words of an IPv6 address in memory order.
    #[inline(always)]
    #[must_use]
    pub fn v6(words: &[u32; 4]) -> Self {
        let half =
            |upper: u32, lower: u32| u64::from(u32::from_be(upper)) << 32 | u64::from(u32::from_be(lower));
        Self { high: half(words[0], words[1]), low: half(words[2], words[3]) }
    }

    #[inline(always)]
    fn octet(self, number: usize) -> u32 {
        let half = if number < 8 { self.high } else { self.low };
        (half >> (56 - (number & 7) * 8)) as u32 & 0xff
    }
}

/// The class of an address in a table that never changes. The lookups are functions of their own, for source and
/// destination and for the sake of the stack.
#[inline(never)]
pub fn fixed_class<P: Pages>(pages: &P, version: u8, high: u64, low: u64) -> u32 {
    if version == 4 {
        let address = high as u32;
        let slot = read::<P, u32>(pages, fixed::ROOT_V4 + (address >> 16) as usize * 4);
        class_v4(pages, slot, address)
    } else {
        let slot = read::<P, u32>(pages, fixed::ROOT_V6 + (high >> 48) as usize * 4);
        class_v6(pages, slot, high, low)
    }
}

/// The version that is in force in a live table. A packet asks once.
#[inline(always)]
pub fn live_version<P: Pages>(pages: &P) -> u32 {
    read::<P, u64>(pages, live::STATE) as u32
}

/// The lists that hold an address, one bit each.
#[inline(never)]
pub fn live_lists<P: Pages>(pages: &P, in_force: u32, version: u8, high: u64, low: u64) -> u64 {
    // The half of each pair that is in force; the mask tells the verifier the bounds.
    let shift = (in_force & 1) * 32;
    let class = if version == 4 {
        let address = high as u32;
        let pair = read::<P, u64>(pages, live::ROOT_V4 + (address >> 16) as usize * 8);
        class_v4(pages, (pair >> shift) as u32, address)
    } else {
        let pair = read::<P, u64>(pages, live::ROOT_V6 + (high >> 48) as usize * 8);
        class_v6(pages, (pair >> shift) as u32, high, low)
    };
    if class == 0 { 0 } else { read::<P, u64>(pages, live::CLASSES + (class as usize & 0xffff) * 8) }
}

#[inline(always)]
fn read<P: Pages, T: crate::parse::Wire + Default>(pages: &P, offset: usize) -> T {
    pages.page(offset / PAGE).map_or(T::default(), |page| page.read(offset))
}

#[inline(always)]
fn class_v4<P: Pages>(pages: &P, slot: u32, address: u32) -> u32 {
    let mut slot = slot;
    if slot & SLOT_KIND == SLOT_NODE {
        slot = through_node(pages, slot, address >> 8 & 0xff);
        if slot & SLOT_KIND == SLOT_NODE {
            slot = through_node(pages, slot, address & 0xff);
        }
        return resolve(slot, address & 0xff);
    }
    resolve(slot, address >> 8 & 0xff)
}

/// A function of its own: four lookups share it, and none of them is short.
#[inline(never)]
fn class_v6<P: Pages>(pages: &P, slot: u32, high: u64, low: u64) -> u32 {
    let address = Address { high, low };
    let mut slot = slot;
    for step in 2..2 + STEPS_V6 {
        let octet = address.octet(step);
        match slot & SLOT_KIND {
            SLOT_NODE => slot = through_node(pages, slot, octet),
            SLOT_COMPARE => return compare(pages, slot, address),
            _ => return resolve(slot, octet),
        }
    }
    resolve(slot, 0)
}

/// A slot that leads no further.
#[inline(always)]
fn resolve(slot: u32, octet: u32) -> u32 {
    if slot & SLOT_KIND == SLOT_CLASS {
        return slot & 0xffff;
    }
    let class = if slot >> 22 & 0xff == octet { slot >> 11 } else { slot };
    class & 0x7ff
}

#[inline(always)]
fn through_node<P: Pages>(pages: &P, slot: u32, octet: u32) -> u32 {
    let node = (slot & REFERENCE) as usize * UNIT;
    let Some(page) = pages.page(node / PAGE) else { return 0 };
    let word = (octet >> 6) as usize;
    let exceptions: u64 = page.read(node + word * 8);
    let bit = 1_u64 << (octet & 63);
    if exceptions & bit == 0 {
        return page.read(node + NODE_DEFAULT);
    }
    let before: u8 = page.read(node + NODE_BEFORE + word);
    let rank = usize::from(before) + (exceptions & (bit - 1)).count_ones() as usize;
    page.read(node + NODE_SLOTS + rank * 4)
}

#[inline(always)]
fn compare<P: Pages>(pages: &P, slot: u32, address: Address) -> u32 {
    let node = (slot & REFERENCE) as usize * UNIT;
    let Some(page) = pages.page(node / PAGE) else { return 0 };
    let length: u32 = page.read(node + 20);
    let high_mask = u64::MAX << ((64 - length.clamp(1, 64)) % 64);
    let low_mask = if length > 64 { u64::MAX << ((128 - length) & 63) } else { 0 };
    let prefix: [u64; 2] = [page.read(node), page.read(node + 8)];
    let is_inside = address.high & high_mask == prefix[0] && address.low & low_mask == prefix[1];
    let class: u16 = page.read(node + if is_inside { 16 } else { 18 });
    u32::from(class)
}
