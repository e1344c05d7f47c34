//! A rule's match as sets of values by field, so that two rules can be compared. Comparing answers "yes"
//! only where no packet can prove it wrong, known or unknown fields and all.

use std::collections::BTreeMap;

use super::values::Values;
use crate::{Fields, FragmentPart, FrameKind, IcmpRange, IpVersion, Matcher, SetReference, TcpFlags};

/// A field of a packet, those first that decide most often and cost least to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Protocol,
    IpVersion,
    Frame,
    Fragment,
    DestinationPort,
    SourcePort,
    TcpFlags,
    Icmp,
    Vlan,
    Length,
    SourceSets,
    DestinationSets,
    Source,
    Destination,
}

const FIELDS: usize = 14;

impl Field {
    /// Each at its own number.
    const ALL: [Self; FIELDS] = [
        Self::Protocol,
        Self::IpVersion,
        Self::Frame,
        Self::Fragment,
        Self::DestinationPort,
        Self::SourcePort,
        Self::TcpFlags,
        Self::Icmp,
        Self::Vlan,
        Self::Length,
        Self::SourceSets,
        Self::DestinationSets,
        Self::Source,
        Self::Destination,
    ];

    /// Whether values are names of address sets: different names may hold the same address.
    fn is_by_name(self) -> bool {
        matches!(self, Self::SourceSets | Self::DestinationSets)
    }
}

/// How an earlier rule covers a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// It matches every packet that the later one matches.
    Whole,
    /// It would, if this field took more values.
    But(Field),
    /// More is missing.
    No,
}

/// What a rule matches.
#[derive(Debug)]
pub(in crate::compile) struct Shape {
    asked: Asked,
    not: Option<Asked>,
}

/// The fields that are asked for.
#[derive(Debug, Default)]
struct Asked {
    values: [Option<Values>; FIELDS],
    mask: u32,
}

/// Numbers for the names of address sets.
#[derive(Debug, Default)]
pub(super) struct SetNumbers(BTreeMap<String, u128>);

impl Shape {
    pub(super) fn new(matcher: &Matcher, sets: &mut SetNumbers) -> Self {
        let not = matcher.not.as_ref().map(|fields| Asked::new(fields, sets));
        let asked = Asked::new(&matcher.fields, sets).with_version_of_prefixes(&matcher.fields);
        Self { asked, not }
    }

    /// Whether a field fits nothing, so that no packet matches.
    pub(super) fn is_void(&self) -> bool {
        self.asked.values.iter().flatten().any(Values::is_empty)
    }

    pub(super) fn get(&self, field: Field) -> Option<&Values> {
        self.asked.get(field)
    }

    /// How this rule, if it comes first, covers `later`.
    pub(super) fn covers(&self, later: &Self) -> Cover {
        // What `later` does not ask for may be unknown, and unknown matches no field of ours.
        if self.asked.mask & !later.asked.mask != 0 {
            return Cover::No;
        }
        let mut cover = Cover::Whole;
        for (field, ours) in self.asked.iter() {
            let fits = later.get(field).is_some_and(|theirs| ours.contains(theirs));
            match (fits, cover) {
                (true, _) => {}
                (false, Cover::Whole) => cover = Cover::But(field),
                (false, _) => return Cover::No,
            }
        }
        if self.not.as_ref().is_some_and(|not| !later.rules_out(not)) { Cover::No } else { cover }
    }

    /// Whether `not` is certainly false for every packet that this rule matches.
    fn rules_out(&self, not: &Asked) -> bool {
        // One field of it is known, since we ask for it, and has no value of those.
        let by_field = not.iter().any(|(field, values)| {
            !field.is_by_name() && self.get(field).is_some_and(|ours| !ours.intersects(values))
        });
        // Or our own `not` is false, and whichever field of it is at fault is at fault there too.
        let by_not = self.not.as_ref().is_some_and(|own| {
            own.iter().all(|(field, values)| not.get(field).is_some_and(|theirs| values.contains(theirs)))
        });
        by_field || by_not
    }

    /// Whether certainly no packet matches both.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        self.asked.iter().any(|(field, ours)| {
            !field.is_by_name() && other.get(field).is_some_and(|theirs| !ours.intersects(theirs))
        })
    }
}

impl Asked {
    fn new(fields: &Fields, sets: &mut SetNumbers) -> Self {
        let source_ports = fields.source_ports.iter().map(|range| (range.first, range.last));
        let destination_ports = fields.destination_ports.iter().map(|range| (range.first, range.last));
        let mut asked = Self::default();
        asked.put(Field::Protocol, fields.protocol.map(one));
        asked.put(Field::IpVersion, fields.ip_version.map(version).map(one));
        asked.put(Field::Frame, fields.frame.map(frame).map(one));
        asked.put(Field::Fragment, fields.fragment.map(fragment));
        asked.put_list(Field::DestinationPort, Values::numbers(destination_ports));
        asked.put_list(Field::SourcePort, Values::numbers(source_ports));
        asked.put(Field::TcpFlags, fields.tcp_flags.map(tcp_flags));
        asked.put_list(Field::Icmp, Values::numbers(fields.icmp.iter().flat_map(icmp)));
        asked.put_list(Field::Vlan, Values::numbers(fields.vlan_ids.iter().map(|id| (*id, *id))));
        asked.put(Field::Length, fields.length.map(|range| Values::numbers([(range.first, range.last)])));
        asked.put(Field::SourceSets, fields.source_sets.as_ref().map(|names| sets.values(names)));
        asked.put(Field::DestinationSets, fields.destination_sets.as_ref().map(|names| sets.values(names)));
        asked.put_list(Field::Source, Values::prefixes(&fields.sources));
        asked.put_list(Field::Destination, Values::prefixes(&fields.destinations));
        asked
    }

    /// Prefixes of one family say which IP version a packet has that fits them.
    fn with_version_of_prefixes(mut self, fields: &Fields) -> Self {
        let lists = [&fields.sources, &fields.destinations].into_iter().filter(|list| !list.is_empty());
        let versions = lists.filter_map(|list| {
            let is_v4 = list[0].addr().is_ipv4();
            list.iter().all(|prefix| prefix.addr().is_ipv4() == is_v4).then_some(is_v4)
        });
        if let (None, Some(is_v4)) = (fields.ip_version, versions.into_iter().next()) {
            self.put(Field::IpVersion, Some(one(version(if is_v4 { IpVersion::V4 } else { IpVersion::V6 }))));
        }
        self
    }

    fn put(&mut self, field: Field, values: Option<Values>) {
        self.mask |= u32::from(values.is_some()) << field as u32;
        self.values[field as usize] = values;
    }

    /// An empty list asks for nothing.
    fn put_list(&mut self, field: Field, values: Values) {
        self.put(field, Some(values).filter(|values| !values.is_empty()));
    }

    fn get(&self, field: Field) -> Option<&Values> {
        self.values[field as usize].as_ref()
    }

    fn iter(&self) -> impl Iterator<Item = (Field, &Values)> {
        let mut left = self.mask;
        std::iter::from_fn(move || {
            let field = *Field::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((field, self.get(field)?))
        })
    }
}

impl SetNumbers {
    fn values(&mut self, reference: &SetReference) -> Values {
        Values::numbers(reference.names.iter().map(|name| {
            let next = self.0.len();
            let number = *self.0.entry(name.clone()).or_insert(next as u128);
            (number, number)
        }))
    }
}

fn one(number: u8) -> Values {
    Values::numbers([(number, number)])
}

fn version(version: IpVersion) -> u8 {
    match version {
        IpVersion::V4 => 4,
        IpVersion::V6 => 6,
    }
}

fn frame(kind: FrameKind) -> u8 {
    match kind {
        FrameKind::Arp => 0,
        FrameKind::LinkControl => 1,
    }
}

fn fragment(part: FragmentPart) -> Values {
    Values::numbers(match part {
        FragmentPart::First => [(0_u8, 0_u8)],
        FragmentPart::Later => [(1, 1)],
        FragmentPart::Any => [(0, 1)],
    })
}

/// The bytes of flags that fit.
fn tcp_flags(flags: TcpFlags) -> Values {
    let fits = |byte: &u8| byte & flags.set == flags.set && byte & flags.unset == 0;
    Values::numbers((0..=u8::MAX).filter(fits).map(|byte| (byte, byte)))
}

/// Type and code as one number.
fn icmp(range: &IcmpRange) -> impl Iterator<Item = (u16, u16)> {
    let (first_code, last_code) = range.code.map_or((0, u8::MAX), |code| (code, code));
    (range.first_type..=range.last_type)
        .map(move |kind| (u16::from_be_bytes([kind, first_code]), u16::from_be_bytes([kind, last_code])))
}
