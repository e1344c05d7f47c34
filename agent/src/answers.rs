//! What interfaces answered when they were asked for a mode, kept over restarts of the agent: the kernel
//! tells why only once, and an adopted attachment is not asked again.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sluice_ipc::paths::{ANSWERS_FILE, ANSWERS_NEW_FILE};
use sluice_policy::{LinkFacts, Mode};
use tracing::warn;

use crate::attempt::Refused;

/// What came of asking an interface for a mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// What the policies asked for.
    pub asked: Mode,
    /// Whether a program was attached, be it in another mode than the best.
    pub attached: bool,
    /// Why not in the best mode that was asked for: one `CamelCase` word. Empty: it is.
    pub reason: String,
    /// The same in words.
    pub message: String,
    /// What to change, if anything helps.
    pub remedy: Option<String>,
    /// Whether it is worth asking again though nothing is known to have changed.
    pub transient: bool,
    /// The facts that held.
    pub facts: LinkFacts,
}

impl Answer {
    /// The answer to `asked` on a link with `facts`.
    pub fn new(asked: Mode, attached: bool, refused: Option<Refused>, facts: &LinkFacts) -> Self {
        let facts = facts.clone();
        let Some(Refused { refusal, transient }) = refused else {
            let (reason, message, remedy, transient) = (String::new(), String::new(), None, false);
            return Self { asked, attached, reason, message, remedy, transient, facts };
        };
        let (reason, message, remedy) = (refusal.reason.to_owned(), refusal.message, refusal.remedy);
        Self { asked, attached, reason, message, remedy, transient, facts }
    }
}

/// The answers by interface index, in a file.
#[derive(Debug)]
pub struct Answers {
    path: PathBuf,
    by_ifindex: BTreeMap<u32, Answer>,
}

impl Answers {
    /// Reads the answers of an earlier run. Where they are lost, what runs goes on unexplained.
    pub fn open(state_dir: &Path) -> Self {
        let path = state_dir.join(ANSWERS_FILE);
        let by_ifindex = read(&path).unwrap_or_else(|error| {
            warn!("cannot read {}: {error}; earlier reasons are lost", path.display());
            BTreeMap::new()
        });
        Self { path, by_ifindex }
    }

    /// The last answer of an interface.
    pub fn get(&self, ifindex: u32) -> Option<&Answer> {
        self.by_ifindex.get(&ifindex)
    }

    /// Keeps `answer` (or forgets the last one), and writes the file if that changes anything.
    pub fn set(&mut self, ifindex: u32, answer: Option<Answer>) {
        if self.by_ifindex.get(&ifindex) == answer.as_ref() {
            return;
        }
        match answer {
            Some(answer) => self.by_ifindex.insert(ifindex, answer),
            None => self.by_ifindex.remove(&ifindex),
        };
        if let Err(error) = self.write() {
            warn!("cannot write {}: {error}; reasons are lost at the next restart", self.path.display());
        }
    }

    /// Forgets interfaces that are not among `there`.
    pub fn retain(&mut self, there: impl Fn(u32) -> bool) {
        let gone: Vec<u32> = self.by_ifindex.keys().copied().filter(|ifindex| !there(*ifindex)).collect();
        for ifindex in gone {
            self.set(ifindex, None);
        }
    }

    fn write(&self) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        let temporary = self.path.with_file_name(ANSWERS_NEW_FILE);
        fs::write(&temporary, serde_json::to_vec(&self.by_ifindex)?)?;
        fs::rename(&temporary, &self.path)
    }
}

fn read(path: &Path) -> io::Result<BTreeMap<u32, Answer>> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error),
    }
}
