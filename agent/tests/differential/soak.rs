//! The same for as long as one likes: `make soak`, or `cargo xtask soak --minutes 60 --seed 7`.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::comparison::Honest;
use crate::search::Search;
use crate::{can_load, cpus};

/// Disagreements after which it is pointless to go on.
const ENOUGH: usize = 10;

/// Without `SOAK_MINUTES` it is one more round.
#[test]
fn soak() {
    if !can_load() {
        return;
    }
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seed = number("SOAK_SEED").unwrap_or(1000);
    let end = Instant::now() + Duration::from_secs(60 * number("SOAK_MINUTES").unwrap_or(0));
    let (pairs, disagreements) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for seed in (seed..).take(cpus()) {
            let (pairs, disagreements) = (&pairs, &disagreements);
            scope.spawn(move || {
                let mut search = Search::new(seed);
                while (search.pairs == 0 || Instant::now() < end) && disagreements.load(Relaxed) < ENOUGH {
                    let before = search.pairs;
                    if let Err(found) = search.step(&Honest) {
                        println!("{found}");
                        disagreements.fetch_add(1, Relaxed);
                    }
                    pairs.fetch_add(search.pairs - before, Relaxed);
                }
                println!("seed {seed}: {} sets of policies, {} pairs", search.inputs, search.pairs);
            });
        }
    });
    let (pairs, disagreements) = (pairs.into_inner(), disagreements.into_inner());
    println!("seeds from {seed}: {pairs} pairs, {disagreements} disagreements");
    assert_eq!(disagreements, 0);
}
