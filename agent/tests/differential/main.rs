//! The program in the kernel (`BPF_PROG_TEST_RUN`, attached to nothing) against the reference evaluator, which shares no
//! code with it: random policies through the compiler, random frames, and all that both say compared. Beside that, the
//! cases by their ids.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod alone;
mod cases;
mod choices;
mod comparison;
mod faults;
#[path = "../../../crates/policy/tests/reference/cases.rs"]
mod frame_cases;
mod frames;
mod limits;
mod packets;
mod policies;
mod program;
mod random;
mod rules;
mod search;
mod sets;
mod soak;
mod values;

use sluice_testkit::{Feature, require};

/// Whether this machine lets us load programs; the test returns at once if not.
fn can_load() -> bool {
    require(Feature::Root) && require(Feature::Bpf)
}

fn cpus() -> usize {
    std::thread::available_parallelism().unwrap().get()
}
