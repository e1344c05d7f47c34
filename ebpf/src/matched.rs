//! The rules that match a packet: found word by word, taken one by one in their order.

use sluice_ebpf_common::{
    Tables,
    tables::{MAX_BITS, WORDS},
};

use crate::classify::{Vectors, lowest};

/// No rule, in place of a number.
pub const NO_RULE: u32 = MAX_BITS as u32;

/// The rules that match a packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Matched {
    /// Words that have been looked at.
    words: u32,
    padding: u32,
    /// By word the rules that match; valid where `words` has the bit.
    bits: [u64; WORDS],
}

impl Matched {
    /// Nothing has been looked at.
    pub const NOTHING: Self = Self { words: 0, padding: 0, bits: [0; WORDS] };

    /// Looks at `candidates`, of which `vectors` gives the bits. The number of the first rule, or [`NO_RULE`].
    #[inline(always)]
    pub fn scan(&mut self, tables: &Tables, candidates: u32, vectors: &impl Vectors) -> u32 {
        // Without rules no field is read, and no vector says so.
        let candidates = if tables.fields == 0 { 0 } else { candidates };
        self.words = candidates;
        let mut rest = candidates;
        let mut first = NO_RULE;
        // The bound is for the verifier, which does not see that a bit goes each time.
        for _ in 0..words(tables) {
            if rest == 0 {
                break;
            }
            // Hidden, or the compiler would keep on the stack what it knows of each field from turn to turn.
            let tables = core::hint::black_box(tables);
            let number = lowest(u64::from(rest)) & (WORDS - 1);
            let bits = vectors.word(tables, number);
            self.bits[number] = bits;
            first = least(first, first_of(tables, number, bits));
            rest &= rest - 1;
        }
        first
    }

    /// Takes the first rule out. [`NO_RULE`] if there is none left.
    #[inline(never)]
    #[must_use]
    pub fn take(&mut self, tables: &Tables) -> u32 {
        let mut rest = self.words;
        let (mut first, mut at) = (NO_RULE, 0);
        for _ in 0..words(tables) {
            if rest == 0 {
                break;
            }
            let number = lowest(u64::from(rest)) & (WORDS - 1);
            let rule = first_of(tables, number, self.bits[number]);
            if rule < first {
                (first, at) = (rule, number);
            }
            rest &= rest - 1;
        }
        let at = core::hint::black_box(at) & (WORDS - 1);
        self.bits[at] &= self.bits[at].wrapping_sub(1);
        first
    }
}

/// Words that may have bits.
#[inline(always)]
fn words(tables: &Tables) -> usize {
    let words = tables.words as usize;
    if words == 0 || words > WORDS { WORDS } else { words }
}

/// The number of the first rule among the bits of a word.
#[inline(always)]
fn first_of(tables: &Tables, word: usize, bits: u64) -> u32 {
    // Without a branch, which the verifier would follow both ways in every turn: without bits the number is at least
    // `NO_RULE`.
    let is_empty = 1 - (core::hint::black_box(bits | bits.wrapping_neg()) >> 63);
    let number = tables.order[(word * 64 + lowest(bits | is_empty)) & (MAX_BITS - 1)];
    u32::from(number) | (NO_RULE * is_empty as u32)
}

/// The less of two numbers, without a branch.
#[inline(always)]
#[allow(clippy::cast_sign_loss, reason = "the least of two numbers of 32 bits is one")]
fn least(one: u32, other: u32) -> u32 {
    let difference = i64::from(one) - i64::from(other);
    let is_less = core::hint::black_box(difference >> 63);
    (i64::from(other) + (difference & is_less)) as u32
}
