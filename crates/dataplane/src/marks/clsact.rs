//! Attaching where the kernel has no tcx: one filter of ours on the qdisc at ingress.
//!
//! The filter is ours if it stands at our priority and handle and runs a program that is pinned in the
//! interface's folder. The qdisc is ours if the folder says so: the pin is made before the qdisc, so that a
//! kill in between leaves nothing that nobody knows of.

use std::path::Path;

use super::{
    program::{Program, pinned_programs},
    traffic_control::{Existing, FILTER_NAME, Filter, TrafficControl},
};
use crate::{Error, bpffs::remove_file};

/// Says that the qdisc is ours. Bpffs holds pins only: this is another pin of the program.
const QDISC: &str = "tc_qdisc";

pub(super) fn attach(folder: &Path, ifindex: u32, program: &Program) -> Result<(), Error> {
    let refused = |source| Error::MarkFilter { ifindex, source };
    let mut control = TrafficControl::open(ifindex).map_err(refused)?;
    let pin = folder.join(QDISC);
    // A kill may have left the pin, with or without the qdisc; one with filters on it is no longer ours.
    let may_be_ours = pin.exists() && control.is_empty().map_err(refused)?;
    if !pin.exists() {
        program.pin(&pin)?;
    }
    let made = control.make_qdisc().map_err(refused)?;
    if !made && !may_be_ours {
        remove_file(&pin)?;
    }
    // One of our name whose pins are gone is taken over. Anything else there is somebody else's.
    let lost = our_filter(&mut control).map_err(refused)?.is_some_and(|filter| filter.name == FILTER_NAME);
    let existing = if lost { Existing::Replace } else { Existing::Refuse };
    control.set_filter(program.fd()?, existing).map_err(refused)
}

pub(super) fn replace(ifindex: u32, program: &Program) -> Result<(), Error> {
    let refused = |source| Error::MarkFilter { ifindex, source };
    let mut control = TrafficControl::open(ifindex).map_err(refused)?;
    control.set_filter(program.fd()?, Existing::Replace).map_err(refused)
}

pub(super) fn is_attached(folder: &Path, ifindex: u32) -> Result<bool, Error> {
    if !folder.exists() {
        return Ok(false);
    }
    let pinned = pinned_programs(folder)?;
    // Without a pin there is nothing to ask for, and the kernel need not be asked.
    Ok(!pinned.is_empty() && program_in_force(ifindex)?.is_some_and(|program| pinned.contains(&program)))
}

/// Id of the program that runs where our filter stands.
pub(super) fn program_in_force(ifindex: u32) -> Result<Option<u32>, Error> {
    let found = TrafficControl::open(ifindex).and_then(|mut control| our_filter(&mut control));
    let filter = found.map_err(|source| Error::MarkFilter { ifindex, source })?;
    Ok(filter.and_then(|filter| filter.program))
}

/// Removes our filter; the qdisc too, if it is ours and nobody else has a filter on it.
pub(super) fn detach(folder: &Path, ifindex: u32) -> Result<(), Error> {
    let refused = |source| Error::MarkFilter { ifindex, source };
    let pin = folder.join(QDISC);
    let attached = is_attached(folder, ifindex)?;
    if !attached && !pin.exists() {
        return Ok(());
    }
    let mut control = TrafficControl::open(ifindex).map_err(refused)?;
    if attached {
        control.remove_filter().map_err(refused)?;
    }
    if pin.exists() && control.is_empty().map_err(refused)? {
        control.remove_qdisc().map_err(refused)?;
    }
    remove_file(&pin)
}

fn our_filter(control: &mut TrafficControl) -> Result<Option<Filter>, crate::links::LinksError> {
    Ok(control.filters()?.into_iter().find(Filter::is_at_our_place))
}
