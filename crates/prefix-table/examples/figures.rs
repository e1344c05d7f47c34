//! Figures of address tables, for people: `cargo run --release -p sluice-prefix-table --example figures [NAME]...`.
//! Heaps are comparable only between processes that make one table each.
#![allow(clippy::unwrap_used, reason = "it ends where a figure cannot be had")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Bytes, Numbers, net, timed, v4, v6};
use ipnet::IpNet;
use sluice_ebpf_common::prefixes::{PAGE, live};
use sluice_prefix_table::fixed;
use sluice_prefix_table::live::Table;
use std::time::{Duration, Instant};

const COUNT: usize = 1_000_000;
const PAGES: usize = 2000;

/// Makes the n-th prefix.
type Make = fn(&mut Numbers, usize) -> IpNet;

const TABLES: [(&str, Make); 9] = [
    ("ipv4-dense", |_, n| v4(0x0a00_0000 + u32::try_from(n).unwrap() * 7, 32)),
    ("ipv4-32", |numbers, _| v4(numbers.next_u32(), 32)),
    ("ipv4-17-to-32", |numbers, _| v4(numbers.next_u32(), 17 + (numbers.next() % 16) as u8)),
    ("ipv6-64", |numbers, _| v6(numbers.next_u128(), 64)),
    ("ipv6-64-global", |numbers, _| v6(numbers.next_u128() >> 3 | 1 << 125, 64)),
    ("ipv6-64-in-32", |numbers, _| v6(in_32(numbers), 64)),
    ("ipv6-128-in-32", |numbers, _| v6(in_32(numbers), 128)),
    ("ipv6-128-in-96", |numbers, _| v6(u128::from(numbers.next_u32()) | 0x2001_0db8 << 96, 128)),
    ("ipv6-49-to-112-in-32", |numbers, _| v6(in_32(numbers), 49 + (numbers.next() % 64) as u8)),
];

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    for (name, make) in TABLES.into_iter().filter(|table| wanted(table.0)) {
        live_table(name, make);
    }
    if wanted("one-slot") {
        one_slot();
    }
    if wanted("fixed") {
        fixed_tables();
    }
}

/// An address in `2001:db8::/32`.
fn in_32(numbers: &mut Numbers) -> u128 {
    numbers.next_u128() >> 32 | 0x2001_0db8 << 96
}

/// Bytes of this process in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// A table of these prefixes, and what changes of a thousand of them cost.
fn live_table(name: &str, make: Make) {
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

/// Changes that all meet one root slot, and some that meet every one.
fn one_slot() {
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

fn fixed_tables() {
    let mut numbers = Numbers(1);
    let mut measure = |name: &str, make: fn(&mut Numbers) -> (IpNet, u32)| {
        let prefixes: Vec<_> = (0..100_000).map(|_| make(&mut numbers)).collect();
        let (time, table) = timed(|| fixed::build(prefixes.into_iter()).unwrap());
        println!(
            "fixed, {name}: {time:?}, {} KiB, {} classes",
            table.memory.len() >> 10,
            table.classes.len()
        );
    };
    measure("100,000 IPv4 /32, 8 labels", |numbers| (v4(numbers.next_u32(), 32), numbers.next_u32() % 8));
    measure("100,000 IPv4 of lengths 8 to 32, 4 labels", |numbers| {
        (v4(numbers.next_u32(), 8 + (numbers.next_u32() % 25) as u8), numbers.next_u32() % 4)
    });
    measure("100,000 IPv6 /64, 8 labels", |numbers| (v6(numbers.next_u128(), 64), numbers.next_u32() % 8));
    measure("100,000 IPv6 /128 in one /32, 4096 labels", |numbers| {
        (v6(in_32(numbers), 128), numbers.next_u32() % 4096)
    });
}
