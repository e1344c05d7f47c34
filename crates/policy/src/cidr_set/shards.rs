//! Cuts a list of addresses into sets that fit an object each, so that a small change of the list changes few
//! of them. Each shard holds a range of the sorted list. Where the ranges begin is read off what the shards
//! hold, so nothing has to be remembered.

use std::collections::BTreeSet;
use std::ops::Range;

use ipnet::IpNet;

/// What fits an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most entries.
    pub entries: usize,
    /// Most bytes that the entries take as JSON.
    pub bytes: usize,
}

/// One set of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number in the names of the sets.
    pub index: u32,
    /// Its prefixes, sorted, each once.
    pub prefixes: Vec<IpNet>,
}

/// What the shards are to be. In the order given here, no prefix that was in the list and stays in it is
/// missing at any moment: a shard is written before another one gives up what it takes over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Shards to write, first the new ones. Some may already be what they should be.
    pub shards: Vec<Shard>,
    /// Shards to remove afterwards.
    pub removed: Vec<u32>,
}

/// Plans the shards of a list: `prefixes` sorted, each once. There is always one at least, so that an empty
/// list is an empty set, not a set that is missing.
#[must_use]
pub fn plan(existing: &[Shard], prefixes: &[IpNet], limits: Limits) -> Plan {
    let list = List::new(prefixes, limits);
    let mut numbers = Numbers::new(existing);
    let mut ranges = ranges_of(existing, prefixes, &mut numbers);
    if ranges.is_empty() {
        let first = existing.iter().map(|shard| shard.index).min();
        ranges.push((first.unwrap_or_else(|| numbers.next()), 0..prefixes.len()));
    }
    let pieces = ranges.into_iter().flat_map(|(index, range)| {
        let pieces = list.pieces(range).into_iter().enumerate();
        let named = pieces.map(|(nth, piece)| (if nth == 0 { index } else { numbers.next() }, piece));
        named.collect::<Vec<_>>()
    });
    let merged = list.merge(pieces.collect());
    finished(existing, prefixes, merged)
}

fn finished(existing: &[Shard], prefixes: &[IpNet], ranges: Vec<(u32, Range<usize>)>) -> Plan {
    let known: BTreeSet<u32> = existing.iter().map(|shard| shard.index).collect();
    let kept: BTreeSet<u32> = ranges.iter().map(|(index, _)| *index).collect();
    let mut shards: Vec<Shard> = ranges
        .into_iter()
        .map(|(index, range)| Shard { index, prefixes: prefixes[range].to_vec() })
        .collect();
    shards.sort_by_key(|shard| known.contains(&shard.index));
    Plan { shards, removed: known.difference(&kept).copied().collect() }
}

/// Numbers that no shard has, removed ones included: what is written anew must not stand in the place of what
/// is still in use.
struct Numbers {
    used: BTreeSet<u32>,
}

impl Numbers {
    fn new(existing: &[Shard]) -> Self {
        Self { used: existing.iter().map(|shard| shard.index).collect() }
    }

    fn next(&mut self) -> u32 {
        let free = (0..u32::MAX).find(|index| !self.used.contains(index)).unwrap_or(u32::MAX);
        self.used.insert(free);
        free
    }
}

/// The part of the list that belongs to each shard that holds anything: from its first prefix to that of the
/// next one. What lies before all of them belongs to the first.
///
/// Shards that run into each other (somebody else wrote there, or was stopped in the middle) are written anew
/// under other numbers: of two that exchange prefixes, neither could be written first.
fn ranges_of(existing: &[Shard], prefixes: &[IpNet], numbers: &mut Numbers) -> Vec<(u32, Range<usize>)> {
    let mut shards: Vec<(IpNet, IpNet, u32)> = existing
        .iter()
        .filter_map(|shard| Some((*shard.prefixes.first()?, *shard.prefixes.last()?, shard.index)))
        .collect();
    shards.sort_unstable();
    let mut ranges = Vec::with_capacity(shards.len());
    let (mut begin, mut last_before) = (0, None);
    for (position, (first, last, index)) in shards.iter().enumerate() {
        let next = shards.get(position + 1).map(|(first, ..)| first);
        let end = next.map_or(prefixes.len(), |next| prefixes.partition_point(|prefix| prefix < next));
        let is_apart = last_before < Some(*first) && next.is_none_or(|next| last < next);
        if begin < end {
            ranges.push((if is_apart { *index } else { numbers.next() }, begin..end));
        }
        begin = end;
        last_before = last_before.max(Some(*last));
    }
    ranges
}

/// The list, with what its entries take.
struct List {
    /// Bytes of all entries before this one.
    bytes_before: Vec<usize>,
    limits: Limits,
}

impl List {
    fn new(prefixes: &[IpNet], limits: Limits) -> Self {
        let mut bytes_before = Vec::with_capacity(prefixes.len() + 1);
        let mut sum = 0;
        bytes_before.push(sum);
        for prefix in prefixes {
            sum += json_bytes(prefix);
            bytes_before.push(sum);
        }
        Self { bytes_before, limits }
    }

    /// Whether the part takes at most `quarters` of what fits.
    fn fits(&self, range: &Range<usize>, quarters: usize) -> bool {
        let bytes = self.bytes_before[range.end] - self.bytes_before[range.start];
        4 * range.len() <= quarters * self.limits.entries && 4 * bytes <= quarters * self.limits.bytes
    }

    /// The part as it is if it fits, else in pieces that leave room to grow.
    fn pieces(&self, range: Range<usize>) -> Vec<Range<usize>> {
        if self.fits(&range, 4) {
            return vec![range];
        }
        let (mut pieces, mut begin) = (Vec::new(), range.start);
        while begin < range.end {
            let more = (begin + 1..range.end).take_while(|end| self.fits(&(begin..end + 1), 3)).count();
            pieces.push(begin..begin + 1 + more);
            begin += 1 + more;
        }
        pieces
    }

    /// Puts neighbours together that take no more than half of what fits: far less than what was cut.
    fn merge(&self, pieces: Vec<(u32, Range<usize>)>) -> Vec<(u32, Range<usize>)> {
        let mut merged: Vec<(u32, Range<usize>)> = Vec::with_capacity(pieces.len());
        for (index, piece) in pieces {
            match merged.last_mut() {
                Some((_, last)) if self.fits(&(last.start..piece.end), 2) => last.end = piece.end,
                _ => merged.push((index, piece)),
            }
        }
        merged
    }
}

/// An entry as JSON, with its quotes and the comma.
fn json_bytes(prefix: &IpNet) -> usize {
    const PUNCTUATION: usize = 3;
    let digits = |length: u8| 1 + usize::from(length > 9) + usize::from(length > 99);
    let address = match prefix {
        IpNet::V4(prefix) => prefix.addr().octets().into_iter().map(digits).sum::<usize>() + 3,
        IpNet::V6(prefix) => prefix.addr().to_string().len(),
    };
    address + 1 + digits(prefix.prefix_len()) + PUNCTUATION
}

#[cfg(test)]
mod tests {
    use super::json_bytes;

    #[test]
    fn the_length_of_an_entry_is_what_it_takes_as_json() {
        for text in ["0.0.0.0/0", "10.99.100.255/32", "::/0", "2001:db8::1/128", "::192.0.2.1/99"] {
            let prefix: ipnet::IpNet = text.parse().unwrap();
            assert_eq!(json_bytes(&prefix), serde_json::to_string(&prefix).unwrap().len() + 1, "{text}");
        }
    }
}
