//! Random bytes read as choices. The byte 0 always takes the plainest choice, so that whatever makes bytes smaller, as
//! proptest does with what has failed, makes policies and packets plainer.

/// Bytes that are read one after the other. Behind their end come zeroes.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// True in about `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        u32::from(self.byte()) * 100 >= (100 - percent) * 256
    }

    /// One of these; the first is the plainest.
    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// One of these, each as often as its weight says; weights are at most 256 together.
    pub fn weighted<T: Copy>(&mut self, values: &[(u32, T)]) -> T {
        let total: u32 = values.iter().map(|(weight, _)| weight).sum();
        let mut at = u32::from(self.byte()) * total / 256;
        for (weight, value) in values {
            if at < *weight {
                return *value;
            }
            at -= weight;
        }
        values[0].1
    }
}
