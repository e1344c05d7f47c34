//! The reference evaluator by the cases of `tests/cases`, by rules made up here, and against `etherparse`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod packets;
mod policies;
mod semantics;
mod well_formed;
mod words;
