//! Address fields: the prefixes that rules list become classes of one table for both sides, the lists of address sets
//! vectors by list.

use std::collections::BTreeSet;

use ipnet::IpNet;
use sluice_ebpf_common::{
    Tables,
    tables::{Field, Side},
};
use sluice_prefix_table::fixed;

use super::{Bindings, DoesNotFit, bits::Bit, heap::Heap, vector::Vector};
use crate::{Fields, SetReference};

/// A use of a prefix: the bit's position, whether as source, and whether to reject.
type Use = (u32, bool, bool);

/// Fills the tables and gives the pages of the address table.
pub(super) fn fill(
    tables: &mut Tables,
    bits: &[Bit<'_>],
    heap: &mut Heap,
    bindings: &Bindings,
) -> Result<Vec<u8>, DoesNotFit> {
    lists(tables, bits, heap, bindings)?;
    if bits.iter().all(|bit| !bit.reads(Field::Source) && !bit.reads(Field::Destination)) {
        return Ok(Vec::new());
    }
    let uses = bits.iter().flat_map(uses);
    let table = fixed::build(uses).map_err(|_| DoesNotFit {
        what: "ways in which the prefixes of rules overlap",
        most: fixed::MAX_CLASSES,
    })?;
    tables.source_classes = heap.row(&vectors(&table.classes, bits, true))?;
    tables.destination_classes = heap.row(&vectors(&table.classes, bits, false))?;
    Ok(table.memory)
}

fn uses<'a>(bit: &'a Bit<'_>) -> impl Iterator<Item = (IpNet, Use)> + 'a {
    let number = u32::try_from(bit.position).unwrap_or(u32::MAX);
    let of = move |prefixes: &'a [IpNet], source, rejects| {
        prefixes.iter().map(move |prefix| (*prefix, (number, source, rejects)))
    };
    let rejected = |field| bit.rejects(field);
    let sources: &[IpNet] = rejected(Field::Source).map_or(&[], |not| &not.sources);
    let destinations: &[IpNet] = rejected(Field::Destination).map_or(&[], |not| &not.destinations);
    of(&bit.accept.sources, true, false)
        .chain(of(&bit.accept.destinations, false, false))
        .chain(of(sources, true, true))
        .chain(of(destinations, false, true))
}

/// By class, the bits that accept its addresses on one side.
fn vectors(classes: &[Vec<Use>], bits: &[Bit<'_>], source: bool) -> Vec<Vector> {
    let field = if source { Field::Source } else { Field::Destination };
    let listed = |bit: &Bit<'_>| {
        if source { !bit.accept.sources.is_empty() } else { !bit.accept.destinations.is_empty() }
    };
    // Bits that only reject accept whatever no prefix of theirs holds.
    let rejecting: Vec<usize> =
        bits.iter().filter(|bit| bit.reads(field) && !listed(bit)).map(|bit| bit.position).collect();
    let vector = |uses: &Vec<Use>| {
        let of = |wanted: bool| {
            let of_side = uses.iter().filter(move |(_, on, rejects)| *on == source && *rejects == wanted);
            of_side.map(|(number, ..)| *number as usize).collect::<BTreeSet<usize>>()
        };
        let (accepted, rejected) = (of(false), of(true));
        let candidates = accepted.into_iter().chain(rejecting.iter().copied());
        candidates.filter(|number| !rejected.contains(number)).collect()
    };
    classes.iter().map(vector).collect()
}

fn lists(
    tables: &mut Tables,
    bits: &[Bit<'_>],
    heap: &mut Heap,
    bindings: &Bindings,
) -> Result<(), DoesNotFit> {
    let sources = |fields: &Fields| fields.source_sets.clone();
    let destinations = |fields: &Fields| fields.destination_sets.clone();
    let accepted = |pick: fn(&Fields) -> Option<SetReference>| move |bit: &Bit<'_>| pick(bit.accept);
    for (list, number) in &bindings.lists {
        let mut fill = |side: Side, pick: &dyn Fn(&Bit<'_>) -> Option<SetReference>| {
            let asks = |bit: &Bit<'_>| pick(bit).is_some_and(|reference| reference.names == *list);
            let vector = bits.iter().filter(|bit| asks(bit)).map(|bit| bit.position).collect();
            tables.lists[side as usize][usize::from(*number) % 64] = heap.entry(vector)?;
            Ok(())
        };
        fill(Side::Source, &accepted(sources))?;
        fill(Side::Destination, &accepted(destinations))?;
        fill(Side::NotSource, &|bit| bit.rejects(Field::SourceNotSet).and_then(sources))?;
        fill(Side::NotDestination, &|bit| bit.rejects(Field::DestinationNotSet).and_then(destinations))?;
    }
    Ok(())
}
