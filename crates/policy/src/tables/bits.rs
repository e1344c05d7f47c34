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

/// Puts bits together that read the same fields, each group from a new word on if there are words enough. In every word
/// the order is that of the rules: the lowest bit stands for the first.
fn place(bits: &mut [Bit<'_>]) {
    let pattern = |bit: &Bit<'_>| -> u32 {
        super::fields::ALL.into_iter().filter(|field| bit.reads(*field)).map(Field::bit).sum()
    };
    let mut numbers: Vec<usize> = (0..bits.len()).collect();
    numbers.sort_by_key(|number| (pattern(&bits[*number]), *number));
    let groups = numbers.chunk_by(|a, b| pattern(&bits[*a]) == pattern(&bits[*b]));
    let mut words: Vec<Vec<usize>> =
        groups.flat_map(|group| group.chunks(64)).map(<[usize]>::to_vec).collect();
    if words.len() > WORDS {
        words = numbers.chunks(64).map(<[usize]>::to_vec).collect();
    }
    for (word, numbers) in words.iter_mut().enumerate() {
        numbers.sort_unstable();
        for (bit, number) in numbers.iter().enumerate() {
            bits[*number].position = word * 64 + bit;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Enforcement, FragmentPart, IpVersion, LengthRange, Matcher};

    /// Six fields, each of them given or not as the bits of `number` say.
    fn rule(number: usize) -> PlannedRule {
        let gives = |bit: usize| number >> bit & 1 != 0;
        let fields = Fields {
            protocol: gives(0).then_some(17),
            ip_version: gives(1).then_some(IpVersion::V4),
            vlan_ids: if gives(2) { vec![1] } else { Vec::new() },
            length: gives(3).then_some(LengthRange { first: 0, last: 9 }),
            sources: if gives(4) { vec![ipnet::IpNet::default()] } else { Vec::new() },
            destinations: if gives(5) { vec![ipnet::IpNet::default()] } else { Vec::new() },
            fragment: gives(1).then_some(FragmentPart::Any),
            ..Fields::default()
        };
        PlannedRule {
            policy: "p".to_owned(),
            rule: format!("r{number}"),
            enforcement: Enforcement::Enforce,
            policy_end: 0,
            action: Action::Pass,
            matcher: Matcher { fields, not: None },
        }
    }

    /// The lowest bit of a word is taken for its first rule, also where the words do not suffice for all groups.
    fn in_order(rules: &[PlannedRule]) {
        let bits = of(rules);
        let mut by_position: Vec<(usize, usize)> =
            bits.iter().enumerate().map(|(number, bit)| (bit.position, number)).collect();
        by_position.sort_unstable();
        assert!(by_position.last().is_none_or(|(position, _)| *position < WORDS * 64));
        for pair in by_position.windows(2) {
            let [(position, number), (next, behind)] = pair else { continue };
            assert_ne!(position, next);
            assert!(position / 64 != next / 64 || number < behind, "{rules:?}");
        }
    }

    #[test]
    fn in_every_word_bits_are_in_the_order_of_rules() {
        let few: Vec<PlannedRule> = (0..20).rev().map(rule).collect();
        in_order(&few);
        let more_groups_than_words: Vec<PlannedRule> = (0..64).rev().map(rule).collect();
        in_order(&more_groups_than_words);
        let large_groups: Vec<PlannedRule> = (0..2048).rev().map(|number| rule(number % 64)).collect();
        in_order(&large_groups);
        in_order(&vec![rule(1); 200]);
    }
}
