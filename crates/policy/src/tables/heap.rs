//! Entries and their words, each kept once.

use std::collections::HashMap;

use sluice_ebpf_common::{
    Tables,
    tables::{Entry, MAX_ENTRIES, MAX_EXTRA},
};

use super::{DoesNotFit, vector::Vector};

/// The entries of a program instance.
#[derive(Debug)]
pub(super) struct Heap {
    entries: Vec<Entry>,
    extra: Vec<u64>,
    known: HashMap<Vector, (Entry, u16)>,
}

impl Default for Heap {
    /// Entry 0 adds nothing, and word 0 is 0.
    fn default() -> Self {
        let known = HashMap::from([(Vector::default(), (Entry::NONE, 0))]);
        Self { entries: vec![Entry::NONE], extra: vec![0], known }
    }
}

impl Heap {
    /// The number of the entry that adds `vector`.
    pub(super) fn number(&mut self, vector: Vector) -> Result<u16, DoesNotFit> {
        if let Some((_, number)) = self.known.get(&vector) {
            return Ok(*number);
        }
        let entry = self.words(vector)?;
        let number = self.push(entry)?;
        self.known.insert(vector, (entry, number));
        Ok(number)
    }

    /// The entry that adds `vector`, without a number.
    pub(super) fn entry(&mut self, vector: Vector) -> Result<Entry, DoesNotFit> {
        let number = self.number(vector)?;
        Ok(self.entries[usize::from(number)])
    }

    /// Entries with numbers that follow each other; the first one's.
    pub(super) fn row(&mut self, vectors: &[Vector]) -> Result<u32, DoesNotFit> {
        let entries: Result<Vec<Entry>, DoesNotFit> =
            vectors.iter().map(|vector| self.entry(*vector)).collect();
        let first = self.entries.len();
        for entry in entries? {
            self.push(entry)?;
        }
        Ok(u32::try_from(first).unwrap_or(u32::MAX))
    }

    fn push(&mut self, entry: Entry) -> Result<u16, DoesNotFit> {
        let number = self.entries.len();
        if number >= MAX_ENTRIES {
            return Err(DoesNotFit { what: "distinct values of fields", most: MAX_ENTRIES });
        }
        self.entries.push(entry);
        Ok(u16::try_from(number).unwrap_or(u16::MAX))
    }

    /// Lays the words of a vector down, from the first to the last that is not 0.
    fn words(&mut self, vector: Vector) -> Result<Entry, DoesNotFit> {
        let (words, summary) = (vector.words(), vector.summary());
        let (first, last) = (summary.trailing_zeros() as usize, 31 - summary.leading_zeros() as usize);
        let at = self.extra.len();
        if at + last - first >= MAX_EXTRA {
            return Err(DoesNotFit { what: "words of bit vectors", most: MAX_EXTRA });
        }
        self.extra.extend(&words[first..=last]);
        let offset = (at + MAX_EXTRA - first) % MAX_EXTRA;
        Ok(Entry { summary, offset: u32::try_from(offset).unwrap_or(0) })
    }

    pub(super) fn write(&self, tables: &mut Tables) {
        tables.entries[..self.entries.len()].copy_from_slice(&self.entries);
        tables.extra[..self.extra.len()].copy_from_slice(&self.extra);
    }
}
