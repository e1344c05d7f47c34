//! Counters of an interface, summed over elements and CPUs.

use std::borrow::Borrow;

use aya::maps::{MapData, PerCpuArray};
use sluice_ebpf_common::{COUNTER_ELEMENTS, Counter, CounterElement, Counters, ELEMENT_SLOTS};

use crate::Error;

/// Reads every element of `map` and sums it over CPUs.
pub(crate) fn read<T: Borrow<MapData>>(
    map: &PerCpuArray<T, CounterElement>,
    ifindex: u32,
) -> Result<Box<Counters>, Error> {
    let mut sum = Box::new(Counters::ZERO);
    for (index, rules) in (0..).zip(0..COUNTER_ELEMENTS) {
        let cpus = map.get(&index, 0).map_err(|source| Error::Map { ifindex, source })?;
        for cpu in cpus.iter() {
            add(&mut sum.outcomes, &cpu.outcomes);
            add(&mut sum.events, &cpu.events);
            add(&mut sum.malformed, &cpu.malformed);
            add(&mut sum.rules[rules * ELEMENT_SLOTS..], &cpu.rules);
        }
    }
    Ok(sum)
}

fn add(sum: &mut [Counter], cpu: &[Counter]) {
    for (sum, cpu) in sum.iter_mut().zip(cpu) {
        sum.packets += cpu.packets;
        sum.bytes += cpu.bytes;
    }
}
