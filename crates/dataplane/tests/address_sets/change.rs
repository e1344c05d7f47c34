//! What is in and what is out, by the loaded program, while sets change.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ipnet::{IpNet, Ipv4Net};

use crate::lab::{Lab, can_load};

#[test]
fn cidr_09_whole_families() {
    if !can_load() {
        return;
    }
    let mut lab = Lab::new();
    let program = lab.program();
    lab.change(&[("0.0.0.0/0", 1), ("::/0", 1), ("192.0.2.0/24", 1)]);
    program.check(&["0.0.0.0", "255.255.255.255", "192.0.2.53", "::", "ffff::1"], &[]);
    lab.change(&[("0.0.0.0/0", 0)]);
    program.check(&["192.0.2.53", "::"], &["0.0.0.0", "198.51.100.20"]);
}

#[test]
fn cidr_10_nested_prefixes() {
    if !can_load() {
        return;
    }
    let mut lab = Lab::new();
    let program = lab.program();
    lab.change(&[("203.0.113.64/26", 1), ("2001:db8:4880::/48", 1)]);
    let inside = ["203.0.113.64", "203.0.113.100", "203.0.113.127", "2001:db8:4880:ffff::1"];
    program.check(&inside, &["203.0.113.128", "203.0.113.63", "2001:db8:4881::1"]);
    lab.change(&[("203.0.113.0/24", 1), ("203.0.113.96/32", 1)]);
    program.check(&["203.0.113.1", "203.0.113.96"], &["203.0.114.0"]);
    lab.change(&[("203.0.113.64/26", 0)]);
    program.check(&["203.0.113.100"], &[]);
    lab.change(&[("203.0.113.0/24", 0)]);
    program.check(&["203.0.113.96"], &["203.0.113.97", "203.0.113.64"]);
    lab.change(&[("203.0.113.96/32", 0)]);
    program.check(&["2001:db8:4880::1"], &["203.0.113.96"]);
}

#[test]
fn a_list_that_no_rule_reads_is_out() {
    if !can_load() {
        return;
    }
    let mut lab = Lab::new();
    let program = lab.program();
    lab.change(&[("203.0.113.0/24", 1 << 63), ("203.0.113.8/32", 1)]);
    program.check(&["203.0.113.8"], &["203.0.113.9"]);
    assert_eq!(lab.sets.mask(&"203.0.113.0/24".parse().unwrap()), 1 << 63);
}

/// An address that is in before and after a change is in during it, and one that is out is out.
#[test]
fn cidr_10_under_traffic_nothing_flickers() {
    if !can_load() {
        return;
    }
    let mut lab = Lab::new();
    lab.change(&[("203.0.113.64/26", 1), ("10.0.0.0/8", 1), ("2001:db8:4880::/48", 1)]);
    let program = lab.program();
    let (done, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                program.check(&["203.0.113.100", "10.200.3.4", "2001:db8:4880:ffff::1"], &["203.0.114.1"]);
                runs.fetch_add(1, Ordering::Relaxed);
            }
        });
        let finish = Finish(&done);
        for number in 0..1000 {
            lab.sets.change(&around(number)).unwrap();
        }
        drop(finish);
    });
    assert!(runs.into_inner() > 1000, "there was no traffic");
}

/// Prefixes around the addresses that are looked at come and go, in many places, so that nodes are made anew, freed
/// and written over.
fn around(number: u32) -> Vec<(IpNet, u64)> {
    let comes = u64::from(number.is_multiple_of(2));
    let host = |bits: u32| IpNet::from(IpAddr::V4(Ipv4Addr::from_bits(bits)));
    let mut changes: Vec<(IpNet, u64)> =
        (0..50).map(|step| (host(0x0ac8_0300 + (number / 2 * 7 + step * 3) % 256), comes)).collect();
    changes.extend((0..20).map(|step| (host(0xcb00_7140 + (number / 2 + step) % 64), comes * 2)));
    let wide = Ipv4Net::new(Ipv4Addr::from_bits(0xcb00_7100), 24).unwrap();
    changes.push((wide.into(), comes));
    changes
}

/// Ends the traffic also when a change fails.
struct Finish<'a>(&'a AtomicBool);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
