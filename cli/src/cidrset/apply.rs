//! `cidrset apply`: the sets of a list become what a feed says, as few files as possible touched.

use std::{collections::BTreeMap, fmt::Write as _, process::ExitCode};

use serde::Serialize;
use sluice_policy::{
    MAX_FILE_BYTES,
    cidr_set::{
        LIST_LABEL,
        feed::Feed,
        shards::{self, Limits, Plan, Shard},
    },
};

use super::{
    directory::Directory,
    record::{self, Record},
    report::{FeedReport, counted},
    shard_file,
};
use crate::{
    arguments::{ApplyArguments, ExplainFormat},
    error::Error,
    input, output,
};

/// Bytes that the entries of one object may take: the API server takes objects of a megabyte and a half.
const MAX_BYTES: usize = 1_000_000;

/// What was done.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Applied {
    list: String,
    #[serde(flatten)]
    feed: FeedReport,
    shards: usize,
    written: Vec<String>,
    removed: Vec<String>,
}

/// Runs `sluicectl cidrset apply`.
pub fn run(arguments: &ApplyArguments) -> Result<ExitCode, Error> {
    let labels = labels(arguments)?;
    let read = super::read(&arguments.feed, arguments.options)?;
    let feed =
        read.map_err(|source| Error::Feed { path: arguments.feed.clone(), source: Box::new(source) })?;
    let list = arguments.name.as_str();
    let directory = Directory::lock(&arguments.directory)?;
    let (existing, texts) = existing(&directory, list)?;
    let limits = Limits { entries: arguments.max_entries as usize, bytes: MAX_BYTES };
    let plan = shards::plan(&existing, &feed.prefixes, limits);
    let written = write(&directory, list, &labels, &plan, &texts)?;
    let removed: Vec<String> = plan.removed.iter().map(|index| shard_file::file_name(list, *index)).collect();
    removed.iter().try_for_each(|file| directory.remove(file))?;
    remember(&directory, arguments, &feed, plan.shards.len())?;
    directory.sync()?;
    let shards = plan.shards.len();
    let applied = Applied { list: list.to_owned(), feed: FeedReport::from(&feed), shards, written, removed };
    match arguments.output {
        ExplainFormat::Json => output::print_json(&applied)?,
        ExplainFormat::Yaml => output::print_yaml(&applied)?,
        ExplainFormat::Text => output::print(&applied.text()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn labels(arguments: &ApplyArguments) -> Result<BTreeMap<String, String>, Error> {
    let mut labels: BTreeMap<_, _> = arguments.labels.iter().cloned().collect();
    match labels.insert(LIST_LABEL.to_owned(), arguments.name.clone()) {
        Some(_) => Err(Error::ReservedLabel { key: LIST_LABEL }),
        None => Ok(labels),
    }
}

/// The sets of the list as they lie there, and the text of each by its number.
#[allow(clippy::type_complexity, reason = "sets, and their texts by number")]
fn existing(directory: &Directory, list: &str) -> Result<(Vec<Shard>, BTreeMap<u32, Vec<u8>>), Error> {
    let (mut shards, mut texts) = (Vec::new(), BTreeMap::new());
    for file in directory.names()? {
        let Some(index) = shard_file::index_of(list, &file) else { continue };
        let bytes = directory.read(&file, MAX_FILE_BYTES + 1)?;
        let set = shard_file::parse(list, &file, &bytes)
            .map_err(|why| Error::NotAShard { path: directory.path(&file), why })?;
        shards.push(Shard { index, prefixes: set.prefixes });
        texts.insert(index, bytes);
    }
    Ok((shards, texts))
}

/// Writes what is not there yet as it should be, and returns the names of those files.
fn write(
    directory: &Directory,
    list: &str,
    labels: &BTreeMap<String, String>,
    plan: &Plan,
    texts: &BTreeMap<u32, Vec<u8>>,
) -> Result<Vec<String>, Error> {
    let mut written = Vec::new();
    for Shard { index, prefixes } in &plan.shards {
        let text = shard_file::render(list, *index, labels, prefixes);
        if texts.get(index).is_none_or(|there| there != text.as_bytes()) {
            let file = shard_file::file_name(list, *index);
            directory.replace(&file, text.as_bytes())?;
            written.push(file);
        }
    }
    Ok(written)
}

fn remember(
    directory: &Directory,
    arguments: &ApplyArguments,
    feed: &Feed,
    shards: usize,
) -> Result<(), Error> {
    let path = &arguments.feed;
    let is_standard_input = path.as_os_str() == "-";
    let record = Record {
        list: arguments.name.clone(),
        feed: if is_standard_input { input::STANDARD_INPUT.to_owned() } else { path.display().to_string() },
        imported_at: record::now(),
        entries: feed.report.entries,
        rejected: feed.report.rejected,
        shards,
    };
    let file = record::file_name(&arguments.name);
    let bytes = record.to_bytes().map_err(|source| Error::Write { path: directory.path(&file), source })?;
    directory.replace(&file, &bytes)
}

impl Applied {
    fn text(&self) -> Result<String, Error> {
        let mut text = self.feed.to_string();
        let unchanged = self.shards - self.written.len();
        writeln!(
            text,
            "{} of list {}: {} written, {} removed, {unchanged} unchanged",
            counted(self.shards, "set", "sets"),
            self.list,
            self.written.len(),
            self.removed.len(),
        )
        .map_err(|error| Error::Output { source: std::io::Error::other(error) })?;
        Ok(text)
    }
}
