//! Address sets on the real kernel: the loaded program is asked about addresses while the table changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod change;
mod lab;
mod large;
mod pins;
