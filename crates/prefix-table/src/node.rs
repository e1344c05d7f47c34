//! What a subtree becomes: a slot, and if need be a node, in their smallest form. It allocates nothing itself.

use crate::prefix::{Family, Prefix};
use sluice_ebpf_common::prefixes::{
    OCTET_CLASSES, SLOT_CLASS, SLOT_COMPARE, SLOT_KIND, SLOT_NODE, SLOT_OCTET, Slot, UNIT,
};

/// Slots of a node before its equal ones are left out.
pub(crate) type Slots = [Slot; 256];

const NODE_BYTES: usize = 40;
const COMPARE_BYTES: usize = 24;

/// Where nodes are put.
pub(crate) trait Nodes {
    /// Puts a node, whole units of bytes, and says at which unit.
    fn put(&mut self, bytes: &[u8]) -> u32;

    /// The `u64` at an offset in bytes that is a multiple of 8.
    fn load(&self, offset: usize) -> u64;
}

pub(crate) fn kind(slot: Slot) -> u32 {
    slot & SLOT_KIND
}

/// Where the node that a slot refers to begins, in bytes.
pub(crate) fn offset(slot: Slot) -> usize {
    (slot & !SLOT_KIND) as usize * UNIT
}

/// What a slot of kind `SLOT_OCTET` says: the octet, the class of equals, the class of others.
pub(crate) fn octet_parts(slot: Slot) -> (u8, u16, u16) {
    let [octet, ..] = ((slot & !SLOT_KIND) << 2).to_be_bytes();
    let class = |bits: u32| u16::try_from(bits & (OCTET_CLASSES - 1)).unwrap_or(0);
    (octet, class(slot >> 11), class(slot))
}

/// A comparison as it is in memory.
pub(crate) struct Comparison {
    pub prefix: Prefix,
    pub inside: u16,
    pub outside: u16,
}

pub(crate) fn load_comparison(nodes: &impl Nodes, slot: Slot) -> Comparison {
    let at = offset(slot);
    let key = u128::from(nodes.load(at)) << 64 | u128::from(nodes.load(at + 8));
    let [i0, i1, o0, o1, l0, l1, l2, l3] = nodes.load(at + 16).to_ne_bytes();
    let length = u8::try_from(u32::from_ne_bytes([l0, l1, l2, l3])).unwrap_or(128);
    Comparison {
        prefix: Prefix { key, length },
        inside: u16::from_ne_bytes([i0, i1]),
        outside: u16::from_ne_bytes([o0, o1]),
    }
}

pub(crate) fn put_comparison(nodes: &mut impl Nodes, comparison: &Comparison) -> Slot {
    let key = comparison.prefix.key;
    let mut bytes = [0; COMPARE_BYTES.next_multiple_of(UNIT)];
    // The casts take the halves of the key.
    #[allow(clippy::cast_possible_truncation)]
    let [high, low] = [(key >> 64) as u64, key as u64];
    bytes[..8].copy_from_slice(&high.to_ne_bytes());
    bytes[8..16].copy_from_slice(&low.to_ne_bytes());
    bytes[16..18].copy_from_slice(&comparison.inside.to_ne_bytes());
    bytes[18..20].copy_from_slice(&comparison.outside.to_ne_bytes());
    bytes[20..24].copy_from_slice(&u32::from(comparison.prefix.length).to_ne_bytes());
    SLOT_COMPARE | nodes.put(&bytes)
}

/// The slot of a subtree that holds one prefix only, if it has a form without a node.
pub(crate) fn single(
    nodes: &mut impl Nodes,
    family: Family,
    at: Prefix,
    prefix: Prefix,
    [inside, outside]: [u16; 2],
) -> Option<Slot> {
    if inside == outside {
        return Some(SLOT_CLASS | u32::from(outside));
    }
    if prefix.length == at.length + 8
        && let Some(slot) = octet_slot(prefix.index(at.length, 8), inside.into(), outside.into())
    {
        return Some(slot);
    }
    let comparison = Comparison { prefix, inside, outside };
    (family == Family::V6).then(|| put_comparison(nodes, &comparison))
}

/// The slot for all addresses in `at`, of which `slots` are the slots by the next 8 bits.
pub(crate) fn encode(nodes: &mut impl Nodes, family: Family, at: Prefix, slots: &Slots) -> Slot {
    let (default, exceptions) = default_of(slots);
    if kind(default) == SLOT_CLASS {
        match count(&exceptions) {
            0 => return default,
            1 => {
                let octet = positions(&exceptions).next().unwrap_or(0);
                if let Some(short) = one_exception(nodes, family, at, (octet, slots[octet]), default) {
                    return short;
                }
            }
            _ => {}
        }
    }
    put_node(nodes, slots, default, &exceptions)
}

fn one_exception(
    nodes: &mut impl Nodes,
    family: Family,
    at: Prefix,
    (octet, slot): (usize, Slot),
    default: Slot,
) -> Option<Slot> {
    match kind(slot) {
        SLOT_CLASS => octet_slot(octet, slot, default),
        SLOT_COMPARE => (u32::from(load_comparison(nodes, slot).outside) == default).then_some(slot),
        SLOT_OCTET if family == Family::V6 => {
            let (second, inside, outside) = octet_parts(slot);
            let prefix = at.child(u8::try_from(octet).ok()?).child(second);
            let comparison = Comparison { prefix, inside, outside };
            (u32::from(outside) == default).then(|| put_comparison(nodes, &comparison))
        }
        _ => None,
    }
}

fn octet_slot(octet: usize, inside: u32, outside: u32) -> Option<Slot> {
    let octet = u32::try_from(octet).ok()?;
    let fits = inside < OCTET_CLASSES && outside < OCTET_CLASSES;
    fits.then_some(SLOT_OCTET | octet << 22 | inside << 11 | outside)
}

fn put_node(nodes: &mut impl Nodes, slots: &Slots, default: Slot, exceptions: &Exceptions) -> Slot {
    let mut bytes = [0; (NODE_BYTES + 256 * 4).next_multiple_of(UNIT)];
    let mut before = 0_u8;
    for (word, bits) in exceptions.iter().enumerate() {
        bytes[word * 8..word * 8 + 8].copy_from_slice(&bits.to_ne_bytes());
        bytes[32 + word] = before;
        // At most 255 slots differ from the default, which is one of them.
        before = before.wrapping_add(u8::try_from(bits.count_ones()).unwrap_or(64));
    }
    bytes[36..40].copy_from_slice(&default.to_ne_bytes());
    let mut end = NODE_BYTES;
    for octet in positions(exceptions) {
        bytes[end..end + 4].copy_from_slice(&slots[octet].to_ne_bytes());
        end += 4;
    }
    SLOT_NODE | nodes.put(&bytes[..end.next_multiple_of(UNIT)])
}

/// As in `prefixes::Node`.
type Exceptions = [u64; 4];

fn count(exceptions: &Exceptions) -> u32 {
    exceptions.iter().map(|word| word.count_ones()).sum()
}

fn positions(exceptions: &Exceptions) -> impl Iterator<Item = usize> {
    exceptions.iter().enumerate().flat_map(|(word, bits)| {
        let mut bits = *bits;
        std::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(word * 64 + bit)
        })
    })
}

fn exceptions(slots: &Slots, default: Slot) -> Exceptions {
    let mut exceptions = [0; 4];
    for (word, part) in exceptions.iter_mut().zip(slots.as_chunks::<64>().0) {
        for (bit, slot) in part.iter().enumerate() {
            *word |= u64::from(*slot != default) << bit;
        }
    }
    exceptions
}

/// The most frequent slot, and where others are. Some samples find a slot that has the majority at once.
fn default_of(slots: &Slots) -> (Slot, Exceptions) {
    let mut samples =
        [slots[1], slots[86], slots[171]].into_iter().map(|slot| (slot, exceptions(slots, slot)));
    if let Some(found) = samples.find(|(_, exceptions)| count(exceptions) < 128) {
        return found;
    }
    let default = most_frequent(slots);
    (default, exceptions(slots, default))
}

/// Each reference is to another node, so that only other slots can be frequent.
fn most_frequent(slots: &Slots) -> Slot {
    let runs = slots.chunk_by(Slot::eq).map(|run| (run[0], run.len()));
    let mut runs: Vec<_> = runs.filter(|(slot, _)| matches!(kind(*slot), SLOT_CLASS | SLOT_OCTET)).collect();
    runs.sort_unstable_by_key(|run| run.0);
    let total = |runs: &[(Slot, usize)]| (runs.iter().map(|run| run.1).sum::<usize>(), runs[0].0);
    let totals = runs.chunk_by(|a, b| a.0 == b.0).map(total);
    totals.max_by_key(|total| total.0).map_or(slots[0], |total| total.1)
}

/// The slots of a node in memory.
pub(crate) fn load_node(nodes: &impl Nodes, slot: Slot) -> Slots {
    let at = offset(slot);
    let [_, _, _, _, default @ ..] = nodes.load(at + 32).to_ne_bytes();
    let mut slots = [u32::from_ne_bytes(default); 256];
    let mut next = at + NODE_BYTES;
    for (word, part) in slots.chunks_mut(64).enumerate() {
        let mut bits = nodes.load(at + word * 8);
        while bits != 0 {
            part[bits.trailing_zeros() as usize] = load_slot(nodes, next);
            next += 4;
            bits &= bits - 1;
        }
    }
    slots
}

/// Bytes of the node that a slot refers to: 0 if it refers to none.
pub(crate) fn size(nodes: &impl Nodes, slot: Slot) -> usize {
    let exceptions = |word: usize| nodes.load(offset(slot) + word * 8).count_ones() as usize;
    let bytes = match kind(slot) {
        SLOT_NODE => NODE_BYTES + 4 * (0..4).map(exceptions).sum::<usize>(),
        SLOT_COMPARE => COMPARE_BYTES,
        _ => 0,
    };
    bytes.next_multiple_of(UNIT)
}

fn load_slot(nodes: &impl Nodes, at: usize) -> Slot {
    let pair = nodes.load(at & !7).to_ne_bytes();
    let [low, high] = [pair.first_chunk(), pair.last_chunk()];
    let half = if at & 4 == 0 { low } else { high };
    half.copied().map_or(0, u32::from_ne_bytes)
}
