//! Rules to bits. A rule whose `not` names several fields matches when any of them certainly does not fit, which one AND
//! cannot say: it gets a bit for each, one behind the other.

use sluice_ebpf_common::tables::{Field, WORDS};

use crate::{Fields, PlannedRule};

/// One alternative of a rule.
#[derive(Clone, Debug)]
pub(super) struct Bit<'a> {
    /// Index of the rule.
    pub(super) rule: usize,
    /// Where it stands in the vectors.
    pub(super) position: usize,
    /// What must hold.
    pub(super) accept: &'a Fields,
    /// What must certainly not hold: fields of `not`, of which this bit takes those that are one field of packets.
    pub(super) reject: Option<(Field, &'a Fields)>,
}

impl Bit<'_> {
    /// Whether a packet's value of `field` makes a difference.
    pub(super) fn reads(&self, field: Field) -> bool {
        self.rejects(field).is_some() || reads(self.accept, field)
    }

    /// The fields of `not` that this bit rejects by its value of `field`.
    pub(super) fn rejects(&self, field: Field) -> Option<&Fields> {
        self.reject.filter(|(rejected, _)| *rejected == field).map(|(_, fields)| fields)
    }
}

/// The bits of all rules, in order.
pub(super) fn of(rules: &[PlannedRule]) -> Vec<Bit<'_>> {
    let mut bits = Vec::with_capacity(rules.len());
    for (index, rule) in rules.iter().enumerate() {
        let accept = &rule.matcher.fields;
        match &rule.matcher.not {
            None => bits.push(Bit { rule: index, position: 0, accept, reject: None }),
            Some(not) => bits.extend(rejectable(not).map(|field| Bit {
                rule: index,
                position: 0,
                accept,
                reject: Some((field, not)),
            })),
        }
    }
    place(&mut bits);
    bits
}

/// Puts bits together that read the same fields, each group from a new word on as long as there are words.
fn place(bits: &mut [Bit<'_>]) {
    let pattern = |bit: &Bit<'_>| -> u32 {
        super::fields::ALL.into_iter().filter(|field| bit.reads(*field)).map(Field::bit).sum()
    };
    let mut numbers: Vec<usize> = (0..bits.len()).collect();
    numbers.sort_by_key(|number| (pattern(&bits[*number]), *number));
    let groups: Vec<&[usize]> = numbers.chunk_by(|a, b| pattern(&bits[*a]) == pattern(&bits[*b])).collect();
    let words: usize = groups.iter().map(|group| group.len().div_ceil(64)).sum();
    let mut position = 0;
    for group in groups {
        for number in group {
            bits[*number].position = position;
            position += 1;
        }
        if words <= WORDS {
            position = position.next_multiple_of(64);
        }
    }
}

/// By rule its first bit, and behind them the number of bits.
pub(super) fn first_of(rules: usize, bits: &[Bit<'_>]) -> Vec<usize> {
    // A rule that rejects nothing has no bit, and then begins where the next one does.
    (0..=rules).map(|rule| bits.partition_point(|bit| bit.rule < rule)).collect()
}

/// The fields that a `not` can fail by. Frame stands for three of a policy's fields: each alone rejects.
fn rejectable(not: &Fields) -> impl Iterator<Item = Field> {
    super::fields::ALL.into_iter().filter(|field| match field {
        Field::SourceSet | Field::DestinationSet => false,
        Field::SourceNotSet => not.source_sets.is_some(),
        Field::DestinationNotSet => not.destination_sets.is_some(),
        _ => reads(not, *field),
    })
}

/// Whether fields ask for a field of packets.
pub(super) fn reads(fields: &Fields, field: Field) -> bool {
    match field {
        Field::Frame => fields.ip_version.is_some() || fields.fragment.is_some() || fields.frame.is_some(),
        Field::Protocol => fields.protocol.is_some(),
        Field::SourcePort => !fields.source_ports.is_empty(),
        Field::DestinationPort => !fields.destination_ports.is_empty(),
        Field::Source => !fields.sources.is_empty(),
        Field::Destination => !fields.destinations.is_empty(),
        Field::SourceSet => fields.source_sets.is_some(),
        Field::DestinationSet => fields.destination_sets.is_some(),
        Field::TcpFlags => fields.tcp_flags.is_some(),
        Field::Icmp => !fields.icmp.is_empty(),
        Field::Vlan => !fields.vlan_ids.is_empty(),
        Field::Length => fields.length.is_some(),
        Field::SourceNotSet | Field::DestinationNotSet => false,
    }
}
