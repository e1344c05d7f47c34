//! Counters of an interface, summed over CPUs.

use std::borrow::Borrow;

use aya::maps::{MapData, PerCpuArray};
use sluice_ebpf_common::{Counter, Counters};

use crate::Error;

/// Reads the one value of `map` and sums it over CPUs.
pub(crate) fn read<T: Borrow<MapData>>(
    map: &PerCpuArray<T, Counters>,
    ifindex: u32,
) -> Result<Box<Counters>, Error> {
    let cpus = map.get(&0, 0).map_err(|source| Error::Map { ifindex, source })?;
    let mut sum = Box::new(Counters::ZERO);
    for cpu in cpus.iter() {
        add(&mut sum.outcomes, &cpu.outcomes);
        add(&mut sum.malformed, &cpu.malformed);
        add(&mut sum.rules, &cpu.rules);
    }
    Ok(sum)
}

fn add(sum: &mut [Counter], cpu: &[Counter]) {
    for (sum, cpu) in sum.iter_mut().zip(cpu) {
        sum.packets += cpu.packets;
        sum.bytes += cpu.bytes;
    }
}
