//! Fields of 16 bits: ports, ICMP type and code, length. Values with equal vectors that follow each other are one run, so
//! the number of runs follows from how rules overlap.

use std::collections::BTreeMap;

use sluice_ebpf_common::{
    Tables,
    tables::{Field, MAX_RUNS, Runs},
};

use super::{DoesNotFit, bits::Bit, heap::Heap, vector::Vector};
use crate::Fields;

/// Ranges of values, both ends included.
type Ranges = Vec<(u16, u16)>;

pub(super) fn fill(tables: &mut Tables, bits: &[Bit<'_>], heap: &mut Heap) -> Result<(), DoesNotFit> {
    let ports = |ports: &[crate::PortRange]| ports.iter().map(|range| (range.first, range.last)).collect();
    runs(&mut tables.source_port, Field::SourcePort, bits, heap, &|fields| ports(&fields.source_ports))?;
    runs(&mut tables.destination_port, Field::DestinationPort, bits, heap, &|fields| {
        ports(&fields.destination_ports)
    })?;
    runs(&mut tables.icmp, Field::Icmp, bits, heap, &icmp)?;
    runs(&mut tables.length, Field::Length, bits, heap, &|fields| {
        fields.length.iter().map(|range| (range.first, range.last)).collect()
    })?;
    // A length above 65535 is known and in no range: those accept it that only reject ranges.
    let beyond = bits.iter().filter(|bit| bit.reads(Field::Length) && bit.accept.length.is_none());
    tables.length_beyond = u32::from(heap.number(beyond.map(|bit| bit.position).collect())?);
    Ok(())
}

/// Types and codes as `type << 8 | code`.
fn icmp(fields: &Fields) -> Ranges {
    let mut ranges = Ranges::new();
    for range in &fields.icmp {
        let value = |kind: u8, code: u8| u16::from_be_bytes([kind, code]);
        match range.code {
            None => ranges.push((value(range.first_type, 0), value(range.last_type, u8::MAX))),
            Some(code) => ranges.extend(
                (range.first_type..=range.last_type).map(|kind| (value(kind, code), value(kind, code))),
            ),
        }
    }
    ranges
}

/// Goes through the values once, from each bound of a range to the next.
fn runs(
    runs: &mut Runs,
    field: Field,
    bits: &[Bit<'_>],
    heap: &mut Heap,
    ranges: &dyn Fn(&Fields) -> Ranges,
) -> Result<(), DoesNotFit> {
    let mut vector = Vector::default();
    let mut changes: BTreeMap<u16, Vec<(usize, bool)>> = BTreeMap::from([(0, Vec::new())]);
    for bit in bits.iter().filter(|bit| bit.reads(field)) {
        for (first, last) in accepted(bit, field, ranges) {
            changes.entry(first).or_default().push((bit.position, true));
            if let Some(behind) = last.checked_add(1) {
                changes.entry(behind).or_default().push((bit.position, false));
            }
        }
    }
    if changes.len() > MAX_RUNS {
        return Err(DoesNotFit { what: "ranges of one field", most: MAX_RUNS });
    }
    for (run, (start, changed)) in changes.into_iter().enumerate() {
        // A range may begin where another of the same bit has ended.
        changed.iter().filter(|(_, begins)| !begins).for_each(|(bit, _)| vector.set(*bit, false));
        changed.iter().filter(|(_, begins)| *begins).for_each(|(bit, _)| vector.set(*bit, true));
        if start > 0 {
            runs.starts[usize::from(start / 64)] |= 1 << (start % 64);
        }
        runs.entry[run] = heap.number(vector)?;
    }
    count(runs);
    Ok(())
}

fn count(runs: &mut Runs) {
    let mut before = 0_u32;
    for (word, starts) in runs.starts.iter().enumerate() {
        runs.before[word] = u16::try_from(before).unwrap_or(u16::MAX);
        before += starts.count_ones();
    }
}

/// The values that a bit accepts, as ranges that neither overlap nor touch, in order.
fn accepted(bit: &Bit<'_>, field: Field, ranges: &dyn Fn(&Fields) -> Ranges) -> Ranges {
    let wanted =
        if super::bits::reads(bit.accept, field) { joined(ranges(bit.accept)) } else { vec![(0, u16::MAX)] };
    let Some(not) = bit.rejects(field) else { return wanted };
    let mut rest = wanted;
    for (first, last) in joined(ranges(not)) {
        rest = rest.into_iter().flat_map(|range| without(range, first, last)).collect();
    }
    rest
}

/// What is left of a range.
fn without((from, to): (u16, u16), first: u16, last: u16) -> impl Iterator<Item = (u16, u16)> {
    let below = first.checked_sub(1).map(|end| (from, to.min(end)));
    let above = last.checked_add(1).map(|start| (from.max(start), to));
    below.into_iter().chain(above).filter(|(first, last)| first <= last)
}

fn joined(mut ranges: Ranges) -> Ranges {
    ranges.sort_unstable();
    let mut joined: Ranges = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if u32::from(first) <= u32::from(*end) + 1 => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined
}
