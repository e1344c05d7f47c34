//! The parser on the host: any bytes, generated packets against `etherparse`, and each place where the
//! two differ on purpose. It never loads a program; the kernel runs the parser in `sluice-dataplane`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bytes;
mod differences;
mod oracle;
mod packet;
mod properties;
mod truncation;
