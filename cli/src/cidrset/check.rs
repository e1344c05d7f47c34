//! `cidrset check`: says what is in a feed.

use std::process::ExitCode;

use super::report::FeedReport;
use crate::{
    arguments::{CheckArguments, ExplainFormat},
    error::Error,
    output,
};

/// Runs `sluicectl cidrset check`.
pub fn run(arguments: &CheckArguments) -> Result<ExitCode, Error> {
    let read = super::read(&arguments.feed, arguments.options)?;
    let report = read.as_ref().map_or_else(FeedReport::from, FeedReport::from);
    match (arguments.output, read) {
        (ExplainFormat::Json, _) => output::print_json(&report)?,
        (ExplainFormat::Yaml, _) => output::print_yaml(&report)?,
        (ExplainFormat::Text, Ok(_)) => output::print(&report.to_string())?,
        (ExplainFormat::Text, Err(source)) => {
            return Err(Error::Feed { path: arguments.feed.clone(), source: Box::new(source) });
        }
    }
    let is_good = report.refused.is_none() && report.entries.rejected == 0;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
