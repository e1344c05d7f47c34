//! Takes everything off a node: the one way to detach that is not a policy's decision.

use std::{fs, path::Path};

use crate::{
    Error,
    attachment::remove_folder,
    bpffs::{PinFolder, file_names, remove_file},
};

/// What was taken off, and what was not.
#[derive(Debug, Default)]
pub struct Removed {
    /// Index of each interface that had pins, and has neither a program of ours nor pins any more.
    pub interfaces: Vec<u32>,
    /// Why anything is left. Another cleanup begins with it.
    pub failures: Vec<Error>,
}

/// Detaches every program that is pinned under `pin_path` and removes the directory. What fails on one
/// interface does not keep the others from being cleaned up.
///
/// # Errors
/// [`Error::InUse`] while an agent runs, which would attach again.
pub fn run(pin_path: &Path) -> Result<Removed, Error> {
    let Some(pins) = PinFolder::open_existing(pin_path)? else {
        return Ok(Removed::default());
    };
    let mut removed = Removed::default();
    for ifindex in pins.interfaces()? {
        match remove_folder(&pins.interface(ifindex), ifindex) {
            Ok(()) => removed.interfaces.push(ifindex),
            Err(failure) => removed.failures.push(failure),
        }
    }
    if removed.failures.is_empty()
        && let Err(failure) = remove_rest(pin_path)
    {
        removed.failures.push(failure);
    }
    Ok(removed)
}

fn remove_rest(pin_path: &Path) -> Result<(), Error> {
    for name in file_names(pin_path).map_err(|source| Error::io("list", pin_path, source))? {
        remove_file(&pin_path.join(name))?;
    }
    fs::remove_dir(pin_path).map_err(|source| Error::io("remove", pin_path, source))
}
