//! A [`Flow`] as plain words, the form in which `parse-probe` hands it to tests.

use crate::flow::Flow;

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
        words[19 + part] = flow.destination.map_or(UNKNOWN, |address| u64::from(address[part]));
    }
}
