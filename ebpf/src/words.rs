//! A [`Flow`] as plain words, the form in which `parse-probe` hands it to tests.

use sluice_ebpf_common::Malformed;

use crate::flow::{Flow, Fragment};

/// Words of one flow.
pub const WORDS: usize = 23;
/// A flow, field by field in the order of [`write`]; [`UNKNOWN`] is `None`.
pub type Words = [u64; WORDS];
/// The value of a field that the parser does not know.
pub const UNKNOWN: u64 = u64::MAX;

/// Writes `flow` into `words`.
#[inline(always)]
pub fn write(flow: &Flow, words: &mut Words) {
    words[0] = flow.malformed.map_or(UNKNOWN, |reason| reason as u64);
    words[1] = flow.vlans[0].map_or(UNKNOWN, u64::from);
    words[2] = flow.vlans[1].map_or(UNKNOWN, u64::from);
    words[3] = flow.ether_type.map_or(UNKNOWN, u64::from);
    words[4] = flow.l3_offset.map_or(UNKNOWN, |value| value as u64);
    words[5] = flow.l3_length.map_or(UNKNOWN, |value| value as u64);
    words[6] = flow.ip_version.map_or(UNKNOWN, u64::from);
    words[7] = flow.protocol.map_or(UNKNOWN, u64::from);
    words[8] = flow.fragment.map_or(UNKNOWN, |fragment| fragment as u64);
    words[9] = flow.l4_offset.map_or(UNKNOWN, |value| value as u64);
    words[10] = flow.source_port.map_or(UNKNOWN, u64::from);
    words[11] = flow.destination_port.map_or(UNKNOWN, u64::from);
    words[12] = flow.tcp_flags.map_or(UNKNOWN, u64::from);
    words[13] = flow.icmp.map_or(UNKNOWN, |icmp| u64::from(icmp[0]));
    words[14] = flow.icmp.map_or(UNKNOWN, |icmp| u64::from(icmp[1]));
    for part in 0..4 {
        words[15 + part] = flow.source.map_or(UNKNOWN, |address| u64::from(address[part]));
        words[19 + part] = flow
            .destination
            .map_or(UNKNOWN, |address| u64::from(address[part]));
    }
}

/// Reads back what [`write`] wrote; `None` if a word holds no value of its field.
#[must_use]
pub fn read(words: &Words) -> Option<Flow> {
    let icmp = match (small(words[13])?, small(words[14])?) {
        (Some(kind), Some(code)) => Some([kind, code]),
        _ => None,
    };
    Some(Flow {
        malformed: known(words[0]).map(malformed).transpose_option()?,
        vlans: [small(words[1])?, small(words[2])?],
        ether_type: small(words[3])?,
        l3_offset: small(words[4])?,
        l3_length: small(words[5])?,
        ip_version: small(words[6])?,
        protocol: small(words[7])?,
        fragment: known(words[8]).map(fragment).transpose_option()?,
        l4_offset: small(words[9])?,
        source_port: small(words[10])?,
        destination_port: small(words[11])?,
        tcp_flags: small(words[12])?,
        icmp,
        source: address(&words[15..19])?,
        destination: address(&words[19..23])?,
    })
}

fn known(word: u64) -> Option<u64> {
    (word != UNKNOWN).then_some(word)
}

/// The outer `None` is a word out of range, the inner one an unknown field.
fn small<T: TryFrom<u64>>(word: u64) -> Option<Option<T>> {
    known(word).map(|word| T::try_from(word).ok()).transpose_option()
}

fn malformed(word: u64) -> Option<Malformed> {
    Malformed::ALL
        .iter()
        .copied()
        .find(|reason| *reason as u64 == word)
}

fn fragment(word: u64) -> Option<Fragment> {
    [Fragment::None, Fragment::First, Fragment::Later]
        .into_iter()
        .find(|fragment| *fragment as u64 == word)
}

fn address(words: &[u64]) -> Option<Option<[u32; 4]>> {
    if words.iter().all(|word| *word == UNKNOWN) {
        return Some(None);
    }
    let mut address = [0; 4];
    for (part, word) in address.iter_mut().zip(words) {
        *part = u32::try_from(*word).ok()?;
    }
    Some(Some(address))
}

/// `Option<Option<T>>` with the layers the other way round.
trait TransposeOption<T> {
    fn transpose_option(self) -> Option<Option<T>>;
}

impl<T> TransposeOption<T> for Option<Option<T>> {
    fn transpose_option(self) -> Option<Option<T>> {
        match self {
            None => Some(None),
            Some(None) => None,
            Some(Some(value)) => Some(Some(value)),
        }
    }
}
