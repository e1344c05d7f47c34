//! Takes everything off a node: the one way to detach that is not a policy's decision.

use std::{fs, path::Path};

use crate::{
    Error,
    attachment::remove_folder,
    bpffs::{PinFolder, file_names, remove_file},
};

/// What was taken off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Index of each interface that had pins.
    pub interfaces: Vec<u32>,
}

/// Detaches every program that is pinned under `pin_path` and removes the folder.
///
/// # Errors
/// [`Error::InUse`] while an agent runs, which would attach again.
pub fn run(pin_path: &Path) -> Result<Removed, Error> {
    let Some(pins) = PinFolder::open_existing(pin_path)? else {
        return Ok(Removed::default());
    };
    let interfaces = pins.interfaces()?;
    for ifindex in &interfaces {
        remove_folder(&pins.interface(*ifindex), *ifindex)?;
    }
    for name in file_names(pins.path()).map_err(|source| Error::io("list", pin_path, source))? {
        remove_file(&pin_path.join(name))?;
    }
    fs::remove_dir(pin_path).map_err(|source| Error::io("remove", pin_path, source))?;
    Ok(Removed { interfaces })
}
