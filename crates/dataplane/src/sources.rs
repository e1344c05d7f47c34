//! How many sources the rate limits of an interface have forgotten: the packet path counts the entries that it makes,
//! the kernel recycles the oldest without a word, and what is left is counted here.

use std::{io, os::fd::AsFd as _, path::Path};

use aya::maps::{Array, Map, MapData};
use sluice_ebpf_common::{SOURCES_CREATED, SourceKey};

use crate::{Error, sys};

/// Entries that are read at once; a bucket of the hash never holds so many.
const BATCH: u32 = 4096;
/// A bucket's time.
const VALUE_BYTES: usize = size_of::<u64>();

/// Entries that were made in the map pinned at `sources`, and are there no longer.
pub(crate) fn evicted(buckets: &Path, sources: &Path, ifindex: u32) -> Result<u64, Error> {
    let in_map = |source| Error::Map { ifindex, source };
    let data = MapData::from_pin(buckets).map_err(in_map)?;
    let buckets: Array<_, u64> = Array::try_from(Map::Array(data)).map_err(in_map)?;
    let index = u32::try_from(SOURCES_CREATED).unwrap_or(u32::MAX);
    let created = buckets.get(&index, 0).map_err(in_map)?;
    if created == 0 {
        return Ok(0);
    }
    let left = entries(sources).map_err(|source| Error::io("count the entries of", sources, source))?;
    Ok(created.saturating_sub(left))
}

/// The kernel walks from bucket to bucket, so that entries which come and go do not keep us here.
fn entries(path: &Path) -> io::Result<u64> {
    let map = sys::object_get(path)?;
    let mut keys = vec![0; BATCH as usize * size_of::<SourceKey>()];
    let mut values = vec![0; BATCH as usize * VALUE_BYTES];
    let (mut position, mut sum) = (None, 0);
    loop {
        let batch = sys::map_lookup_batch(map.as_fd(), position, &mut keys, &mut values, BATCH)?;
        sum += u64::from(batch.entries);
        if batch.is_last {
            return Ok(sum);
        }
        position = Some(batch.position);
    }
}
