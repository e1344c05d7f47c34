//! Takes everything off a node: the one way to detach that is not a policy's decision.

use std::{collections::BTreeMap, fs, os::fd::AsFd as _, path::Path};

use crate::{
    Error,
    attachment::{LINK, remove_folder},
    bpffs::{PinFolder, file_names, remove_file},
    sys,
};

/// What was taken off, and what was not.
#[derive(Debug, Default)]
pub struct Removed {
    /// Index of each interface that had pins, and has neither a program of ours nor pins any more.
    pub interfaces: Vec<u32>,
    /// Id of the program that was taken off an interface, by the interface's index.
    pub programs: BTreeMap<u32, u32>,
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
        let folder = pins.interface(ifindex);
        let program = program_of_link(&folder);
        match remove_folder(&folder, ifindex) {
            Ok(()) => {
                removed.interfaces.push(ifindex);
                removed.programs.extend(program.map(|program| (ifindex, program)));
            }
            Err(failure) => removed.failures.push(failure),
        }
    }
    if removed.failures.is_empty() {
        removed.failures = remove_rest(pin_path).unwrap_or_else(|failure| vec![failure]);
    }
    Ok(removed)
}

fn program_of_link(folder: &Path) -> Option<u32> {
    let link = sys::object_get(&folder.join(LINK)).ok()?;
    let info = sys::link_info(link.as_fd()).ok()?;
    (info.ifindex != 0).then_some(info.program_id)
}

/// Returns why anything is left: a directory, which is none of ours, keeps the pin path from going too.
fn remove_rest(pin_path: &Path) -> Result<Vec<Error>, Error> {
    let names = file_names(pin_path).map_err(|source| Error::io("list", pin_path, source))?;
    let mut failures: Vec<_> =
        names.iter().filter_map(|name| remove_file(&pin_path.join(name)).err()).collect();
    if failures.is_empty()
        && let Err(source) = fs::remove_dir(pin_path)
    {
        failures.push(Error::io("remove", pin_path, source));
    }
    Ok(failures)
}
