//! The command line of Sluice. It asks the agent and shows the answer, or compiles a policy by
//! itself. It never programs the kernel; only `cleanup` has the dataplane take things off.
#![forbid(unsafe_code)]

mod agent;
pub mod arguments;
mod cidrset;
mod cleanup;
mod error;
mod explain;
mod input;
mod numbers;
mod output;
#[cfg(test)]
mod samples;
mod status;
mod top;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;

use crate::{
    arguments::{Arguments, Command},
    error::Error,
};

/// The exit code of a command line that cannot be understood. Not 2, which means that the agent
/// cannot be reached.
const USAGE: u8 = 64;

/// Runs one command line, the first word of which is the program's own name.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    match execute(arguments) {
        // Whoever read our output has enough of it: `sluicectl status | head -1`.
        Err(Error::Output { source }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// Help and the version come as errors too: those are what was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    match error.print() {
        Ok(()) if error.use_stderr() => ExitCode::from(USAGE),
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn execute(arguments: Arguments) -> Result<ExitCode, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::Runtime { source })?;
    let socket = &arguments.socket;
    match arguments.command {
        Command::Status(status) => runtime.block_on(status::run(socket, &status)),
        Command::Top => runtime.block_on(top::run(socket)),
        Command::Explain(explain) => explain::run(&explain),
        Command::Cidrset(cidrset) => cidrset::run(&cidrset),
        Command::Cleanup(cleanup) => runtime.block_on(cleanup::run(socket, &cleanup)),
        Command::Version => runtime.block_on(agent::print_versions(socket)),
    }
}
