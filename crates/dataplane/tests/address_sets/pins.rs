//! Growth to other memory, and what is left in the BPF file system.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use sluice_dataplane::address_sets::AddressSets;

use crate::lab::{Lab, can_load};

fn many() -> Vec<(IpNet, u64)> {
    (0..200_000_u32).map(|number| (IpAddr::V4(Ipv4Addr::from_bits(number << 12)).into(), 1)).collect()
}

#[test]
fn a_table_that_grows_moves() {
    if !can_load() {
        return;
    }
    let mut lab = Lab::new();
    lab.change(&[("203.0.113.0/24", 1)]);
    let (before, old) = (lab.sets.figures(), lab.program());
    lab.sets.change(&many()).unwrap();
    let after = lab.sets.figures();
    assert!(
        after.generation > before.generation && after.bytes_allocated > before.bytes_allocated,
        "{after:?}"
    );
    // The program of before goes on with what there was, until it is replaced.
    old.check(&["203.0.113.9"], &["0.0.16.0"]);
    lab.program().check(&["203.0.113.9", "0.0.16.0"], &["0.0.16.1"]);
    let name = format!("address_sets_v{}_{}", sluice_ebpf_common::ABI_VERSION, after.generation);
    assert_eq!(lab.pinned(), [name]);
}

#[test]
fn a_later_owner_begins_anew_and_nothing_is_left() {
    if !can_load() {
        return;
    }
    let mut lab = Lab::new();
    lab.change(&[("203.0.113.0/24", 1)]);
    let old = lab.program();
    let generation = lab.sets.figures().generation;
    // As if the process before had been killed: the pin is still there.
    let before = std::mem::replace(&mut lab.sets, AddressSets::open(&lab.pins).unwrap());
    assert_eq!(lab.pinned().len(), 1);
    lab.change(&[("198.51.100.0/24", 1)]);
    assert_eq!(lab.pinned().len(), 1);
    assert!(lab.sets.figures().generation > generation);
    old.check(&["203.0.113.9"], &["198.51.100.9"]);
    lab.program().check(&["198.51.100.9"], &["203.0.113.9"]);
    drop(before);
    assert_eq!(lab.pinned().len(), 1);
    let path = lab.pins.path().to_path_buf();
    drop(lab);
    assert!(!path.exists());
}

#[test]
fn a_table_that_nobody_needs_takes_nothing() {
    if !can_load() {
        return;
    }
    let lab = Lab::new();
    assert_eq!(lab.sets.figures(), sluice_dataplane::address_sets::Figures::default());
    assert!(lab.pinned().is_empty());
}
