//! Plans of whole policies on a node: the failsafe, address sets, limits, and what is warned of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod failsafe;
#[path = "../reference/cases.rs"]
#[allow(dead_code)]
mod frames;
mod helpers;
mod limits;
mod sets;
mod warnings;
