//! What became of each address set: from the files, and what the table holds.

use sluice_ipc::v1alpha1::{self as ipc, AddressSetState};

use crate::{
    node::Node,
    policies::to_ipc,
    policy_directory::{Kept, KnownSet},
};

/// The status of every set that is on the node or was refused.
pub fn report(node: &Node) -> Vec<ipc::AddressSetStatus> {
    let mut all: Vec<ipc::AddressSetStatus> =
        node.snapshot.sets.iter().map(|known| known_set(node, known)).collect();
    for (file, name, problem) in problems(node) {
        let belongs = |status: &&mut ipc::AddressSetStatus| match name {
            Some(name) => status.name == name,
            None => status.file == file,
        };
        let problem = to_ipc(problem);
        if let Some(status) = all.iter_mut().find(belongs) {
            status.problems.push(problem);
        } else {
            let (name, file) = (name.unwrap_or_default().to_owned(), file.to_owned());
            let state = AddressSetState::Refused.into();
            let problems = vec![problem];
            all.push(ipc::AddressSetStatus {
                name,
                file,
                state,
                problems,
                ..ipc::AddressSetStatus::default()
            });
        }
    }
    all
}

/// What the table holds and takes.
pub fn table(node: &Node) -> ipc::AddressTableStatus {
    let figures = node.address_sets.figures();
    ipc::AddressTableStatus {
        prefixes: number(figures.prefixes),
        bytes_used: number(figures.bytes_used),
        bytes_allocated: number(figures.bytes_allocated),
    }
}

fn problems(node: &Node) -> impl Iterator<Item = (&str, Option<&str>, &sluice_policy::Problem)> {
    node.snapshot.files.iter().flat_map(|file| {
        file.of_sets.iter().map(|(name, problem)| (file.file.as_str(), name.as_deref(), problem))
    })
}

fn known_set(node: &Node, known: &KnownSet) -> ipc::AddressSetStatus {
    let KnownSet { set, kept } = known;
    let report = &set.report;
    let not_loaded = node.address_sets.problem(&set.name);
    let state = match kept {
        _ if not_loaded.is_some() => AddressSetState::NotLoaded,
        Some(Kept::Gone) => AddressSetState::Gone,
        Some(Kept::Unreadable) => AddressSetState::LastGood,
        None if node.address_sets.is_read(&set.name) => AddressSetState::Loaded,
        None => AddressSetState::Unused,
    };
    let rejected = |entry: &sluice_policy::cidr_set::RejectedEntry| ipc::RejectedEntry {
        place: entry.place.clone(),
        text: entry.text.clone(),
        reason: entry.reason.as_str().to_owned(),
        message: entry.message.clone(),
    };
    ipc::AddressSetStatus {
        name: set.name.clone(),
        file: set.file.clone(),
        state: state.into(),
        entries: number(report.entries),
        duplicates: number(report.duplicates),
        rejected: number(report.rejected),
        first_rejected: report.first_rejected.iter().map(rejected).collect(),
        problems: Vec::new(),
        not_loaded_because: not_loaded.unwrap_or_default().to_owned(),
    }
}

fn number(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
