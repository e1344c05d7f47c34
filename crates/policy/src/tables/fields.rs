//! Fields with few values: one vector for each value.

use sluice_ebpf_common::{
    Tables,
    tables::{Field, frame},
};

use super::{DoesNotFit, bits::Bit, heap::Heap, numbers, vector::Vector};
use crate::{Fields, FragmentPart, FrameKind, IpVersion, TcpFlags};

/// Every field.
pub(super) const ALL: [Field; 14] = [
    Field::Frame,
    Field::Protocol,
    Field::SourcePort,
    Field::DestinationPort,
    Field::Source,
    Field::Destination,
    Field::SourceSet,
    Field::DestinationSet,
    Field::TcpFlags,
    Field::Icmp,
    Field::Vlan,
    Field::Length,
    Field::SourceNotSet,
    Field::DestinationNotSet,
];

/// Fills every field but those of addresses.
pub(super) fn fill(tables: &mut Tables, bits: &[Bit<'_>], heap: &mut Heap) -> Result<(), DoesNotFit> {
    frames(tables, bits, heap)?;
    by_value(&mut tables.protocol, Field::Protocol, bits, heap, |fields, value| {
        fields.protocol.is_some_and(|protocol| usize::from(protocol) == value)
    })?;
    by_value(&mut tables.tcp_flags, Field::TcpFlags, bits, heap, |fields, value| {
        fields.tcp_flags.is_some_and(|flags| flags_fit(flags, value))
    })?;
    by_value(&mut tables.vlan, Field::Vlan, bits, heap, |fields, value| {
        fields.vlan_ids.iter().any(|id| usize::from(*id) == value)
    })?;
    numbers::fill(tables, bits, heap)
}

fn flags_fit(flags: TcpFlags, value: usize) -> bool {
    value & usize::from(flags.set) == usize::from(flags.set) && value & usize::from(flags.unset) == 0
}

/// A vector for each value: the bits that read the field and accept it.
fn by_value(
    entries: &mut [u16],
    field: Field,
    bits: &[Bit<'_>],
    heap: &mut Heap,
    fits: impl Fn(&Fields, usize) -> bool,
) -> Result<(), DoesNotFit> {
    let readers: Vec<&Bit<'_>> = bits.iter().filter(|bit| bit.reads(field)).collect();
    if readers.is_empty() {
        return Ok(());
    }
    for (value, entry) in entries.iter_mut().enumerate() {
        let accepts = |bit: &Bit<'_>| {
            let accepts = !super::bits::reads(bit.accept, field) || fits(bit.accept, value);
            accepts && bit.rejects(field).is_none_or(|not| !fits(not, value))
        };
        let vector: Vector = readers.iter().filter(|bit| accepts(bit)).map(|bit| bit.position).collect();
        *entry = heap.number(vector)?;
    }
    Ok(())
}

/// What a frame shows of the three fields that [`Field::Frame`] stands for.
struct Shown {
    version: Option<IpVersion>,
    fragment: Option<Part>,
    kind: Option<FrameKind>,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Whole,
    First,
    Later,
}

fn shown(index: usize) -> Shown {
    let ip = |version, first: u8| {
        let fragment = [Part::Whole, Part::First, Part::Later][index - usize::from(first)];
        Shown { version: Some(version), fragment: Some(fragment), kind: None }
    };
    let other = |kind| Shown { version: None, fragment: None, kind };
    match u8::try_from(index).unwrap_or(u8::MAX) {
        0..frame::IPV6 => ip(IpVersion::V4, frame::IPV4),
        frame::IPV6..frame::ARP => ip(IpVersion::V6, frame::IPV6),
        frame::ARP => other(Some(FrameKind::Arp)),
        frame::LINK_CONTROL => other(Some(FrameKind::LinkControl)),
        _ => other(None),
    }
}

fn frames(tables: &mut Tables, bits: &[Bit<'_>], heap: &mut Heap) -> Result<(), DoesNotFit> {
    for (index, entry) in tables.frame.iter_mut().enumerate() {
        let shown = shown(index);
        let accepts = |bit: &Bit<'_>| {
            // Each of the three that is asked for must be known and fit; any of them rejects by being known and not fitting.
            let accepts =
                fits(bit.accept, &shown).into_iter().all(|fit| fit.is_none_or(|fit| fit == Some(true)));
            let rejects = |not: &Fields| fits(not, &shown).into_iter().any(|fit| fit == Some(Some(false)));
            accepts && bit.rejects(Field::Frame).is_none_or(rejects)
        };
        let readers = bits.iter().filter(|bit| bit.reads(Field::Frame) && accepts(bit));
        *entry = heap.number(readers.map(|bit| bit.position).collect())?;
    }
    Ok(())
}

/// Of IP version, fragment and kind: not asked for, unknown, or whether it fits.
fn fits(fields: &Fields, shown: &Shown) -> [Option<Option<bool>>; 3] {
    let part = |part: FragmentPart, shown: Part| match part {
        FragmentPart::First => shown == Part::First,
        FragmentPart::Later => shown == Part::Later,
        FragmentPart::Any => shown != Part::Whole,
    };
    [
        fields.ip_version.map(|wanted| shown.version.map(|version| version == wanted)),
        fields.fragment.map(|wanted| shown.fragment.map(|fragment| part(wanted, fragment))),
        fields.frame.map(|wanted| shown.kind.map(|kind| kind == wanted)),
    ]
}
