//! Measures the table of address sets in the kernel: loading a million IPv4 prefixes, and changing 1,000 of them. Run it as
//! root, with `--release`.
#![allow(clippy::print_stdout, reason = "this is what it is for")]

use std::{
    net::{IpAddr, Ipv4Addr},
    path::Path,
    time::{Duration, Instant},
};

use ipnet::IpNet;
use sluice_dataplane::{Error, address_sets::AddressSets, bpffs::PinFolder};

const MILLION: u32 = 1_000_000;
const CHANGED: u32 = 1000;
const ROUNDS: u32 = 20;

fn main() -> Result<(), Error> {
    let path = format!("/sys/fs/bpf/sluice-speed-{}", std::process::id());
    let pins = PinFolder::open(Path::new(&path))?;
    for (name, prefix) in [("apart", apart as fn(u32) -> IpNet), ("close", close)] {
        let mut sets = AddressSets::open(&pins)?;
        let all: Vec<(IpNet, u64)> = (0..MILLION).map(|number| (prefix(number), 1)).collect();
        let (load, ()) = timed(|| sets.change(&all))?;
        let figures = sets.figures();
        println!("load/1m-v4 ({name}): {load:?}, {figures:?}");
        let mut changes = Vec::new();
        for round in 0..ROUNDS {
            let some = |number| (prefix((number * 997 + round) % MILLION), u64::from(round % 2));
            let some: Vec<(IpNet, u64)> = (0..CHANGED).map(some).collect();
            // What a change after a while takes; what one at once takes is the kernel's wait for packets.
            std::thread::sleep(Duration::from_millis(100));
            changes.push(timed(|| sets.change(&some))?.0);
        }
        changes.sort_unstable();
        println!("change/1000 ({name}): median {:?}, most {:?}", changes[changes.len() / 2], changes.last());
        let at_once = timed(|| (0..ROUNDS).try_for_each(|round| sets.change(&[(prefix(round), 0)])))?.0;
        println!("one after the other ({name}): {:?} each", at_once / ROUNDS);
    }
    Ok(())
}

/// All over the address space.
fn apart(number: u32) -> IpNet {
    IpAddr::V4(Ipv4Addr::from_bits(number.wrapping_mul(0x9e37_79b1))).into()
}

/// As CIDR-11 has them.
fn close(number: u32) -> IpNet {
    IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number * 7)).into()
}

fn timed<R>(work: impl FnOnce() -> Result<R, Error>) -> Result<(Duration, R), Error> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed(), result))
}
