//! Names of the pins of the live table: one for each generation, of which the last is in use.
//!
//! A pin is only where programs find the map when they are loaded; a loaded program holds its map itself.

use std::path::{Path, PathBuf};

use sluice_ebpf_common::ABI_VERSION;

use crate::{
    Error,
    bpffs::{file_names, remove_file},
};

const PREFIX: &str = "address_sets_v";

pub(super) fn path(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{ABI_VERSION}_{generation}"))
}

/// The highest generation in the folder, whichever version it is of; 0 if there is none.
pub(super) fn last_generation(folder: &Path) -> Result<u64, Error> {
    let generations = names(folder)?.into_iter().filter_map(|name| name.rsplit_once('_')?.1.parse().ok());
    Ok(generations.max().unwrap_or(0))
}

/// Removes all pins but that of one generation.
pub(super) fn remove_others(folder: &Path, generation: u64) -> Result<(), Error> {
    let kept = path(folder, generation);
    let mut others = names(folder)?.into_iter().map(|name| folder.join(name));
    others.try_for_each(|path| if path == kept { Ok(()) } else { remove_file(&path) })
}

fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names = file_names(folder).map_err(|source| Error::io("list", folder, source))?;
    names.retain(|name| name.starts_with(PREFIX));
    Ok(names)
}
