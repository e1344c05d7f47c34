//! The table of address sets, and below it what is wrong with them and what the table of addresses takes.

use std::fmt::{self, Formatter};

use sluice_ipc::v1alpha1::{AddressSetState, AddressSetStatus, AddressTableStatus};

use super::{policies::write_problem, table};
use crate::output::clean;

/// So many rejected entries are named for a set.
const NAMED: usize = 3;

/// Writes the table and the sentences.
pub fn write(
    f: &mut Formatter<'_>,
    sets: &[AddressSetStatus],
    addresses: Option<&AddressTableStatus>,
    width: Option<u16>,
) -> fmt::Result {
    if sets.is_empty() {
        return Ok(());
    }
    let columns = ["ADDRESS SET", "STATE", ">ENTRIES", ">DUPLICATES", ">REJECTED", "FILE"];
    write!(f, "\n{}", table(&columns, sets.iter().map(row).collect(), width))?;
    if let Some(AddressTableStatus { prefixes, bytes_used, bytes_allocated }) = addresses {
        let (used, allocated) = (kibibytes(*bytes_used), kibibytes(*bytes_allocated));
        writeln!(
            f,
            "  Rules read {prefixes} prefixes, in {used} KiB of {allocated} KiB that the kernel has set aside"
        )?;
    }
    sets.iter().try_for_each(|set| remarks(f, set))
}

const fn kibibytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}

fn row(set: &AddressSetStatus) -> Vec<String> {
    let AddressSetStatus { entries, duplicates, rejected, file, .. } = set;
    let numbers = [entries, duplicates, rejected].map(u64::to_string);
    [vec![name(set), set.state().name().to_owned()], numbers.to_vec(), vec![file.clone()]].concat()
}

fn name(set: &AddressSetStatus) -> String {
    if set.name.is_empty() { "(no name)".into() } else { set.name.clone() }
}

fn remarks(f: &mut Formatter<'_>, set: &AddressSetStatus) -> fmt::Result {
    let subject = clean(&name(set));
    match set.state() {
        AddressSetState::Gone => writeln!(
            f,
            "  {subject}: CidrSetNotFound: it is no longer there, but a rule names it: its last content stays in force"
        )?,
        AddressSetState::LastGood => {
            writeln!(
                f,
                "  {subject}: what its file says now cannot be used; what it last gave stays in force"
            )?;
        }
        AddressSetState::Refused => writeln!(f, "  {subject}: refused; nothing of it is there")?,
        AddressSetState::NotLoaded => writeln!(
            f,
            "  {subject}: not loaded; what it held before stays in force: {}",
            clean(&set.not_loaded_because)
        )?,
        AddressSetState::Loaded | AddressSetState::Unused | AddressSetState::Unspecified => {}
    }
    for problem in &set.problems {
        write_problem(f, problem)?;
    }
    let named = set.first_rejected.iter().take(NAMED);
    for entry in named {
        let (place, text, message) = (clean(&entry.place), clean(&entry.text), clean(&entry.message));
        writeln!(f, "  {subject}: rejected: {place}: {text}: {}: {message}", clean(&entry.reason))?;
    }
    let shown = u64::try_from(set.first_rejected.len().min(NAMED)).unwrap_or(0);
    if set.rejected > shown {
        writeln!(f, "  {subject}: and {} more rejected entries", set.rejected - shown)?;
    }
    Ok(())
}
