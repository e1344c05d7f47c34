//! `cidrset`: published lists of addresses as address sets in a policy directory. It asks no agent and fetches
//! nothing.

mod apply;
mod check;
mod directory;
mod list;
mod record;
mod report;
mod shard_file;

use std::{path::Path, process::ExitCode};

use sluice_policy::cidr_set::{
    MAX_FEED_BYTES,
    feed::{self, Feed, FeedError},
};

use crate::{
    arguments::{CidrsetArguments, CidrsetCommand, FeedOptions},
    error::Error,
    input,
};

/// Runs `sluicectl cidrset`.
pub fn run(arguments: &CidrsetArguments) -> Result<ExitCode, Error> {
    match &arguments.command {
        CidrsetCommand::Check(arguments) => check::run(arguments),
        CidrsetCommand::Apply(arguments) => apply::run(arguments),
        CidrsetCommand::List(arguments) => list::run(arguments),
    }
}

/// Reads a feed, and says whether it can be used.
fn read(path: &Path, options: FeedOptions) -> Result<Result<Feed, FeedError>, Error> {
    let bytes = input::read(path, MAX_FEED_BYTES + 1)
        .map_err(|source| Error::Read { path: path.to_path_buf(), source })?;
    if bytes.len() > MAX_FEED_BYTES {
        return Err(Error::FeedTooLarge { path: path.to_path_buf(), limit: MAX_FEED_BYTES });
    }
    Ok(feed::read(&bytes, options.into()))
}
