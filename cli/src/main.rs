//! `sluicectl`: reads the arguments, runs the command, says what went wrong. It holds no logic.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    sluicectl::run(std::env::args_os())
}
