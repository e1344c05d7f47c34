//! What every run of the tests looks at: at least 200,000 pairs of policies and frames. Four tests, since they run at
//! the same time.

use rstest::rstest;

use crate::can_load;
use crate::comparison::Honest;
use crate::search::Search;

/// Pairs for each seed.
pub const PAIRS: usize = 50_000;

#[rstest]
fn the_program_judges_as_the_reference_does(#[values(1, 2, 3, 4)] seed: u64) {
    if !can_load() {
        return;
    }
    let mut search = Search::new(seed);
    while search.pairs < PAIRS {
        if let Err(found) = search.step(&Honest) {
            panic!("{found}");
        }
    }
    println!("seed {seed}: {} sets of policies, {} pairs, no disagreement", search.inputs, search.pairs);
}
