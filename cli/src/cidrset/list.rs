//! `cidrset list`: the address sets of a directory, the sets of one list together.

use std::{collections::BTreeMap, path::Path, process::ExitCode};

use serde::Serialize;
use sluice_policy::{
    ParsedFile,
    cidr_set::{CidrSet, LIST_LABEL},
    is_policy_file, is_set_file, max_file_bytes, parse_file,
};

use super::{
    directory,
    record::{self, Record},
};
use crate::{
    arguments::{ExplainFormat, ListArguments},
    error::Error,
    input, numbers, output,
    status::table,
};

/// A list, or a set that belongs to none.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    /// Sets; absent if it is no list.
    shards: Option<usize>,
    entries: usize,
    rejected: usize,
    /// Files that hold no good set.
    bad_files: Vec<String>,
    last_import: Option<LastImport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LastImport {
    age_seconds: u64,
    #[serde(flatten)]
    record: Record,
}

/// Runs `sluicectl cidrset list`.
pub fn run(arguments: &ListArguments) -> Result<ExitCode, Error> {
    let rows = rows(&arguments.directory)?;
    match arguments.output {
        ExplainFormat::Json => output::print_json(&rows)?,
        ExplainFormat::Yaml => output::print_yaml(&rows)?,
        ExplainFormat::Text if rows.is_empty() => output::print("no address set\n")?,
        ExplainFormat::Text => {
            let columns = ["NAME", ">SETS", ">ENTRIES", ">REJECTED", ">LAST IMPORT", "FROM", "NOT READ"];
            let cells = rows.iter().map(Row::cells).collect();
            output::print(&table(&columns, cells, output::terminal_width()))?;
        }
    }
    let is_good = rows.iter().all(|row| row.bad_files.is_empty());
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn rows(path: &Path) -> Result<Vec<Row>, Error> {
    let mut rows = BTreeMap::new();
    for file in directory::names(path)? {
        if is_policy_file(file.as_ref()) || is_set_file(file.as_ref()) {
            add(&mut rows, &file, parsed(path, &file)?);
        }
    }
    for row in rows.values_mut().filter(|row| row.shards.is_some()) {
        row.last_import = last_import(path, &row.name);
    }
    Ok(rows.into_values().collect())
}

fn parsed(directory: &Path, file: &str) -> Result<ParsedFile, Error> {
    let path = directory.join(file);
    let bytes = input::read(&path, max_file_bytes(file.as_ref()) + 1)
        .map_err(|source| Error::Read { path: path.clone(), source })?;
    Ok(parse_file(file, &bytes))
}

fn add(rows: &mut BTreeMap<String, Row>, file: &str, parsed: ParsedFile) {
    for set in parsed.sets {
        if let Ok(CidrSet { name, labels, report, .. }) = set.result {
            let list = labels.get(LIST_LABEL);
            let row = row_of(rows, list.unwrap_or(&name));
            row.shards = list.map(|_| row.shards.unwrap_or(0) + 1);
            row.entries += report.entries;
            row.rejected += report.rejected;
        } else {
            let name = set.name.unwrap_or_else(|| file.to_owned());
            row_of(rows, &name).bad_files.push(file.to_owned());
        }
    }
}

fn row_of<'a>(rows: &'a mut BTreeMap<String, Row>, name: &str) -> &'a mut Row {
    rows.entry(name.to_owned()).or_insert_with(|| Row { name: name.to_owned(), ..Row::default() })
}

/// A record that cannot be read is none: the sets are what counts.
fn last_import(directory: &Path, list: &str) -> Option<LastImport> {
    const MAX_RECORD_BYTES: usize = 64 << 10;
    let bytes = input::read(&directory.join(record::file_name(list)), MAX_RECORD_BYTES).ok()?;
    let record = Record::parse(&bytes).ok()?;
    Some(LastImport { age_seconds: record.age(), record })
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let import = self.last_import.as_ref();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let bad = (!self.bad_files.is_empty()).then(|| self.bad_files.join(", "));
        vec![
            self.name.clone(),
            or_dash(self.shards.map(|shards| shards.to_string())),
            self.entries.to_string(),
            // What an import left out is not in the files.
            (self.rejected + import.map_or(0, |import| import.record.rejected)).to_string(),
            or_dash(import.map(|import| format!("{} ago", numbers::span(import.age_seconds)))),
            or_dash(import.map(|import| import.record.feed.clone())),
            or_dash(bad),
        ]
    }
}
