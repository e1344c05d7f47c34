//! Figures of the live table, for people: `cargo test --release -p sluice-prefix-table -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;

use common::{Bytes, Numbers, v4, v6};
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
fn figures(name: &str, mut make: impl FnMut(usize) -> IpNet) {
    let prefixes: Vec<IpNet> = (0..COUNT).map(&mut make).collect();
    let others: Vec<IpNet> = (COUNT..COUNT + 10_000).map(make).collect();
    let mut memory = Bytes::new(PAGES);
    memory.0.fill(1);
    memory.0.fill(0);
    let before = resident();
    let mut table = Table::new(PAGES);
    let start = Instant::now();
    table.change(&mut memory, prefixes.iter().map(|prefix| (*prefix, 1))).unwrap();
    let built = start.elapsed();
    let heap = resident().saturating_sub(before) >> 20;
    println!("{name}: {built:?}, {} KiB of nodes, heap {heap} MiB", (table.bytes_used() - live::NODES) >> 10);
    let mut times: Vec<(Duration, usize)> = Vec::new();
    for (round, others) in others.chunks(500).enumerate() {
        let gone = prefixes.iter().skip(round).step_by(COUNT / 500).map(|prefix| (*prefix, 0));
        let changes: Vec<_> = gone.chain(others.iter().map(|prefix| (*prefix, 1))).collect();
        let start = Instant::now();
        let change = table.change(&mut memory, changes).unwrap();
        times.push((start.elapsed(), change.node_bytes));
    }
    times.sort_unstable();
    let [best, middle, worst] = [times[0], times[times.len() / 2], times[times.len() - 1]];
    println!("    1,000 changes: best {best:?}, middle {middle:?}, worst {worst:?} of 20");
    let start = Instant::now();
    let pages = table.bytes_used().div_ceil(PAGE) + 20;
    table.move_to(&mut Bytes::new(pages), pages).unwrap();
    println!("    moved in {:?}", start.elapsed());
}

#[test]
#[ignore = "measures; run it in a release build"]
fn figures_of_a_million() {
    let mut numbers = Numbers(1);
    let dense = |n: usize| v4(0x0a00_0000 + u32::try_from(n).unwrap() * 7, 32);
    figures("CIDR-11: IPv4 /32 in steps of 7", dense);
    figures("IPv4 /32, random", |_| v4(numbers.next_u32(), 32));
    figures("IPv4 of lengths 17 to 32, random", |_| v4(numbers.next_u32(), 17 + (numbers.next() % 16) as u8));
    figures("IPv6 /64, random", |_| v6(numbers.next_u128(), 64));
    figures("IPv6 /64 in 2000::/3, random", |_| v6(numbers.next_u128() >> 3 | 1 << 125, 64));
    figures("IPv6 /64 in 2001:db8::/32, random", |_| v6(numbers.next_u128() >> 32 | 0x2001_0db8 << 96, 64));
    figures("IPv6 /128 in 2001:db8::/32, random", |_| v6(numbers.next_u128() >> 32 | 0x2001_0db8 << 96, 128));
    figures("IPv6 /128 in 2001:db8::/96, random", |_| {
        v6(u128::from(numbers.next_u32()) | 0x2001_0db8 << 96, 128)
    });
    figures("IPv6 of lengths 33 to 96 in 2001:db8::/32, random", |_| {
        v6(numbers.next_u128() >> 32 | 0x2001_0db8 << 96, 33 + (numbers.next() % 64) as u8)
    });
}

#[test]
#[ignore = "measures; run it in a release build"]
fn figures_of_one_slot() {
    let mut numbers = Numbers(2);
    let mut table = Table::new(PAGES);
    let mut memory = Bytes::new(PAGES);
    let million = (0..COUNT).map(|_| (v4(numbers.next_u32(), 32), 1)).collect::<Vec<_>>();
    table.change(&mut memory, million).unwrap();
    for _ in 0..5 {
        let changes: Vec<_> =
            (0..1000).map(|_| (v4(0xc000_0000 | numbers.next_u32() & 0xffff, 32), 2)).collect();
        let start = Instant::now();
        let change = table.change(&mut memory, changes).unwrap();
        println!("1,000 changes in one /16 of a million random: {:?}, {change:?}", start.elapsed());
    }
    let start = Instant::now();
    let change = table.change(&mut memory, ["0.0.0.0/0", "::/0"].map(|text| (common::net(text), 4))).unwrap();
    println!("both /0 over all: {:?}, {change:?}", start.elapsed());
}
