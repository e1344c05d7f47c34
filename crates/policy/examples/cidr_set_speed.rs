//! Shows how long it takes to read a million addresses, as a feed, as documents and as files:
//! `cargo run --release -p sluice-policy --example cidr_set_speed`. It asserts nothing.
#![allow(clippy::unwrap_used)]
#![forbid(unsafe_code)]

use std::net::Ipv4Addr;
use std::time::Instant;

use sluice_policy::cidr_set::feed::{Options, read};
use sluice_policy::cidr_set::shards::{Limits, plan};
use sluice_policy::parse_file;

const ENTRIES: u32 = 1_000_000;
const OF_A_SET: usize = 50_000;

fn main() {
    // An odd factor spreads the numbers over all addresses, in no order.
    let addresses = (0..ENTRIES).map(|number| Ipv4Addr::from(number.wrapping_mul(2_654_435_761)));
    let texts: Vec<String> = addresses.map(|address| address.to_string()).collect();

    let text = texts.join("\n");
    let feed = timed("a feed", || read(text.as_bytes(), Options::default()).unwrap());
    let shards =
        timed("sharding", || plan(&[], &feed.prefixes, Limits { entries: 40_000, bytes: 1_000_000 }));
    println!("  {} shards", shards.shards.len());
    timed("sharding again, nothing changed", || {
        plan(&shards.shards, &feed.prefixes, Limits { entries: 40_000, bytes: 1_000_000 })
    });

    for (kind, entries) in [("as a YAML list", "\n  - "), ("as JSON", "\",\"")] {
        let files: Vec<String> =
            texts.chunks(OF_A_SET).map(|chunk| file(&chunk.join(entries), kind == "as JSON")).collect();
        let parsed: Vec<_> = timed(&format!("20 files {kind}"), || {
            files.iter().map(|file| parse_file("a.yaml", file.as_bytes())).collect()
        });
        let entries: usize =
            parsed.iter().map(|file| file.sets[0].result.as_ref().unwrap().report.entries).sum();
        println!("  {entries} entries");
    }
}

fn file(entries: &str, is_json: bool) -> String {
    let head = "{\"apiVersion\": \"sluice.dev/v1alpha1\", \"kind\": \"XdpCidrSet\", \"metadata\": {\"name\": \"a\"}, \"spec\":";
    if is_json {
        format!("{head} {{\"cidrs\": [\"{entries}\"]}}}}")
    } else {
        format!(
            "apiVersion: sluice.dev/v1alpha1\nkind: XdpCidrSet\nmetadata: {{name: a}}\nspec:\n  cidrs:\n  - {entries}\n"
        )
    }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    println!("{what}: {:.3} s", started.elapsed().as_secs_f64());
    result
}
