//! A set of bits.

use sluice_ebpf_common::tables::WORDS;

/// Bits of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Vector([u64; WORDS]);

impl Vector {
    pub(super) fn set(&mut self, bit: usize, value: bool) {
        let mask = 1 << (bit % 64);
        if value {
            self.0[bit / 64] |= mask;
        } else {
            self.0[bit / 64] &= !mask;
        }
    }

    pub(super) const fn words(self) -> [u64; WORDS] {
        self.0
    }

    /// Words that are not 0, one bit each.
    pub(super) fn summary(self) -> u32 {
        self.0.iter().enumerate().filter(|(_, word)| **word != 0).map(|(word, _)| 1_u32 << word).sum()
    }
}

impl FromIterator<usize> for Vector {
    fn from_iter<T: IntoIterator<Item = usize>>(bits: T) -> Self {
        let mut vector = Self::default();
        bits.into_iter().for_each(|bit| vector.set(bit, true));
        vector
    }
}
