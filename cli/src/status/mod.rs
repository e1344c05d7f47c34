//! `status`: asks the agent once and prints the answer.

mod counters;
mod interfaces;
mod policies;
mod problems;
mod sets;
mod tables;
#[cfg(test)]
mod tests;
mod text;

use std::{
    path::Path,
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    agent,
    arguments::{StatusArguments, StatusFormat},
    error::Error,
    output,
};

pub use interfaces::REVISION_DIGITS;
pub use problems::count as count_problems;
pub use tables::{Columns, table};

/// Runs `sluicectl status`.
pub async fn run(socket: &Path, arguments: &StatusArguments) -> Result<ExitCode, Error> {
    let reply = agent::status(socket, arguments.sample_milliseconds).await?;
    match arguments.output {
        StatusFormat::Json => output::print_json(&reply)?,
        StatusFormat::Yaml => output::print_yaml(&reply)?,
        StatusFormat::Table => {
            let text = text::StatusText {
                reply: &reply,
                now_unix_seconds: now(),
                width: output::terminal_width(),
                counters: arguments.counters,
            };
            output::print(&text.to_string())?;
        }
    }
    let failed = arguments.check && problems::count(&reply) > 0;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
