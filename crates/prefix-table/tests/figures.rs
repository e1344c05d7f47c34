//! Figures of the live table, for people: `cargo nextest run --release -p sluice-prefix-table --run-ignored only --no-capture`.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;

use common::{Bytes, Numbers, net, timed, v4, v6};
use ipnet::IpNet;
use sluice_ebpf_common::prefixes::{PAGE, live};
use sluice_prefix_table::live::Table;
use std::time::{Duration, Instant};

const COUNT: usize = 1_000_000;
const PAGES: usize = 2000;

/// Bytes of this process in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// A table of these prefixes, and what changes of a thousand of them cost.
fn figures(name: &str, make: impl Fn(&mut Numbers, usize) -> IpNet) {
    let mut numbers = Numbers(1);
    let mut prefixes: Vec<IpNet> = (0..COUNT + 10_000).map(|n| make(&mut numbers, n)).collect();
    let others = prefixes.split_off(COUNT);
    let mut memory = Bytes::new(PAGES);
    memory.0.fill(1);
    memory.0.fill(0);
    let before = resident();
    let mut table = Table::new(PAGES);
    let masks = (0..).map(|n| 1 << (n % 8));
    let first = prefixes.iter().copied().zip(masks);
    let (built, _) = timed(|| table.change(&mut memory, first).unwrap());
    let heap = resident().saturating_sub(before) >> 20;
    println!("{name}: {built:?}, {} KiB of nodes, heap {heap} MiB", (table.bytes_used() - live::NODES) >> 10);
    let mut times: Vec<Duration> = Vec::new();
    let (sum, ()) = timed(|| {
        for (round, others) in others.chunks(500).enumerate() {
            let gone = prefixes.iter().skip(round).step_by(COUNT / 500).map(|prefix| (*prefix, 0));
            let changes = gone.chain(others.iter().map(|prefix| (*prefix, 1 << (round % 8))));
            let start = Instant::now();
            table.change(&mut memory, changes).unwrap();
            times.push(start.elapsed());
        }
    });
    times.sort_unstable();
    println!(
        "    1,000 changes: mean {:?} on the CPU; by the clock {:?} to {:?}",
        sum / 20,
        times[0],
        times[19]
    );
    let pages = table.bytes_used().div_ceil(PAGE) + 20;
    let (moved, _) = timed(|| table.move_to(&mut Bytes::new(pages), pages).unwrap());
    println!("    moved in {moved:?}");
}

/// Each in its own process, or their heaps are one.
macro_rules! figures {
    ($($test:ident: $name:literal, $make:expr;)*) => {$(
        #[test]
        #[ignore = "measures; run it in a release build"]
        fn $test() {
            figures($name, $make);
        }
    )*};
}

figures! {
    cidr_11_dense: "CIDR-11: IPv4 /32 in steps of 7", |_, n| v4(0x0a00_0000 + u32::try_from(n).unwrap() * 7, 32);
    ipv4_hosts: "IPv4 /32, random", |numbers, _| v4(numbers.next_u32(), 32);
    ipv4_mixed: "IPv4 of lengths 17 to 32, random", |numbers, _| v4(numbers.next_u32(), 17 + (numbers.next() % 16) as u8);
    ipv6_64: "IPv6 /64, random", |numbers, _| v6(numbers.next_u128(), 64);
    ipv6_64_global: "IPv6 /64 in 2000::/3, random", |numbers, _| v6(numbers.next_u128() >> 3 | 1 << 125, 64);
    ipv6_64_in_32: "IPv6 /64 in 2001:db8::/32, random", |numbers, _| v6(numbers.next_u128() >> 32 | 0x2001_0db8 << 96, 64);
    ipv6_hosts_in_32: "IPv6 /128 in 2001:db8::/32, random", |numbers, _| v6(numbers.next_u128() >> 32 | 0x2001_0db8 << 96, 128);
    ipv6_hosts_in_96: "IPv6 /128 in 2001:db8::/96, random", |numbers, _| v6(u128::from(numbers.next_u32()) | 0x2001_0db8 << 96, 128);
    ipv6_mixed_in_32: "IPv6 of lengths 49 to 112 in 2001:db8::/32, random", |numbers, _| v6(numbers.next_u128() >> 32 | 0x2001_0db8 << 96, 49 + (numbers.next() % 64) as u8);
}

#[test]
#[ignore = "measures; run it in a release build"]
fn figures_of_one_slot() {
    let mut numbers = Numbers(2);
    let mut table = Table::new(PAGES);
    let mut memory = Bytes::new(PAGES);
    let million = (0..COUNT).map(|_| (v4(numbers.next_u32(), 32), 1)).collect::<Vec<_>>();
    table.change(&mut memory, million).unwrap();
    let changes: Vec<_> =
        (0..10_000).map(|_| (v4(0xc000_0000 | numbers.next_u32() & 0xffff, 32), 2)).collect();
    let (sum, ()) = timed(|| {
        for changes in changes.chunks(1000) {
            table.change(&mut memory, changes.iter().copied()).unwrap();
        }
    });
    println!("1,000 changes in one /16 of a million random: mean {:?}", sum / 10);
    let whole = ["0.0.0.0/0", "::/0"].map(|text| (net(text), 4));
    let (time, change) = timed(|| table.change(&mut memory, whole).unwrap());
    println!("both /0 over all: {time:?}, {change:?}");
}
