//! Lists of every size, to the limit and beyond.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use rstest::rstest;
use sluice_dataplane::{Error, address_sets::MAX_PREFIXES};

use crate::lab::{Lab, can_load};

const FIRST: u32 = 0x0a00_0000;
const STEP: u32 = 7;

fn address(number: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(FIRST + u32::try_from(number).unwrap() * STEP))
}

fn list(numbers: std::ops::Range<usize>) -> Vec<(IpNet, u64)> {
    numbers.map(|number| (IpNet::from(address(number)), 1)).collect()
}

#[rstest]
#[case(1000)]
#[case(50_000)]
#[case(65_537)]
#[case(100_000)]
#[case(1_000_000)]
fn cidr_11_large_lists(#[case] size: usize) {
    if !can_load() {
        return;
    }
    let mut lab = Lab::new();
    lab.sets.change(&list(0..size)).unwrap();
    let program = lab.program();
    for number in (0..size).step_by(size / 500).chain([size - 1]) {
        assert!(program.holds(address(number)), "{number}");
        let next = Ipv4Addr::from_bits(FIRST + u32::try_from(number).unwrap() * STEP + 1);
        assert!(!program.holds(next), "{next}");
    }
    assert!(!program.holds(address(size)));
    let figures = lab.sets.figures();
    assert_eq!((figures.prefixes, figures.classes), (size, 1));
    assert!(figures.bytes_used <= figures.bytes_allocated, "{figures:?}");
    // The kernel charges what the figures say, and its own head of the map.
    let charged = charged(&lab);
    let head = charged.checked_sub(figures.bytes_allocated);
    assert!(head.is_some_and(|head| head <= 8192), "{charged} {figures:?}");
}

/// What the kernel charges for the map.
fn charged(lab: &Lab) -> usize {
    let path = lab.pins.path().join(&lab.pinned()[0]);
    let map = aya::maps::MapData::from_pin(path).unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(&map.fd()));
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("memlock:")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn cidr_11_beyond_the_limit_nothing_changes() {
    if !can_load() {
        return;
    }
    let mut lab = Lab::new();
    lab.sets.change(&list(0..1000)).unwrap();
    let program = lab.program();
    let before = lab.sets.figures();
    let refused = lab.sets.change(&list(1000..MAX_PREFIXES + 1)).unwrap_err();
    assert!(matches!(refused, Error::CapacityExceeded { needed: 2_000_001, limit: 2_000_000 }), "{refused}");
    let message = refused.to_string();
    for part in ["CapacityExceeded", "2000001", "2000000"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(lab.sets.figures(), before);
    assert!(program.holds(address(0)) && program.holds(address(999)) && !program.holds(address(1000)));
    // What is in already counts once.
    lab.sets.change(&list(0..2000)).unwrap();
}
