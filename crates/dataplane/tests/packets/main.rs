//! Every frame of the packet cases through the parser and the product's program, in the kernel
//! (`BPF_PROG_TEST_RUN`, attached to nothing).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod cases;
mod counting;
mod far_headers;
mod parse;
mod probe;
mod rules;
mod verdicts;

use sluice_testkit::{Feature, require};

/// Whether this machine lets us load programs; the test returns at once if not.
fn can_load() -> bool {
    require(Feature::Root) && require(Feature::Bpf)
}
