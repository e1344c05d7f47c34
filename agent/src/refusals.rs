//! Why interfaces refused a mode, kept over restarts of the agent: the kernel says so only once, when it
//! is asked, and an adopted attachment is not asked again.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sluice_policy::{LinkFacts, Mode};

use crate::attempt::Refused;

const FILE: &str = "refusals.json";

/// A refusal, what was asked for, and the facts that held when the kernel was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// `CamelCase` word.
    pub reason: String,
    /// The same in words.
    pub message: String,
    /// What to change, if anything helps.
    pub remedy: Option<String>,
    /// Whether it is worth asking again though no fact has changed.
    pub transient: bool,
    /// What the policies asked for.
    pub asked: Mode,
    /// When any of these changes, it is worth asking again.
    pub facts: LinkFacts,
}

impl Note {
    /// Notes that `refused` came of `asked` on a link with `facts`.
    pub fn new(refused: Refused, asked: Mode, facts: &LinkFacts) -> Self {
        let Refused { refusal, transient } = refused;
        let (message, remedy) = (refusal.message, refusal.remedy);
        Self { reason: refusal.reason.to_owned(), message, remedy, transient, asked, facts: facts.clone() }
    }

    /// Whether asking again would give the same answer, as far as one can know.
    pub fn still_holds(&self, asked: Mode, facts: &LinkFacts) -> bool {
        !self.transient && self.asked == asked && self.facts == *facts
    }
}

/// The notes by interface index, in a file.
#[derive(Debug)]
pub struct Refusals {
    path: PathBuf,
    by_ifindex: BTreeMap<u32, Note>,
}

impl Refusals {
    /// Reads the notes of an earlier run; a file that is absent or damaged is an empty one, since all
    /// that is lost is an explanation.
    pub fn open(state_dir: &Path) -> Self {
        let path = state_dir.join(FILE);
        let read = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { path, by_ifindex: read.unwrap_or_default() }
    }

    /// The note on an interface.
    pub fn get(&self, ifindex: u32) -> Option<&Note> {
        self.by_ifindex.get(&ifindex)
    }

    /// Keeps `note` (or its end) for an interface, and writes the file if that changes anything.
    pub fn set(&mut self, ifindex: u32, note: Option<Note>) -> io::Result<()> {
        if self.by_ifindex.get(&ifindex) == note.as_ref() {
            return Ok(());
        }
        match note {
            Some(note) => self.by_ifindex.insert(ifindex, note),
            None => self.by_ifindex.remove(&ifindex),
        };
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let temporary = self.path.with_extension("json.new");
        fs::write(&temporary, serde_json::to_vec(&self.by_ifindex)?)?;
        fs::rename(&temporary, &self.path)
    }
}
