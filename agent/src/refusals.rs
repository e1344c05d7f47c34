//! Why interfaces refused a mode, kept over restarts of the agent: the kernel says so only once, when it
//! is asked, and an adopted attachment is not asked again.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sluice_policy::{LinkFacts, attach::Refusal};

const FILE: &str = "refusals.json";

/// A refusal, and the facts that held when the kernel was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// `CamelCase` word.
    pub reason: String,
    /// The same in words.
    pub message: String,
    /// What to change, if anything helps.
    pub remedy: Option<String>,
    /// When any of these changes, it is worth asking again.
    pub facts: LinkFacts,
}

impl Refused {
    /// Notes `refusal` of a link with `facts`.
    pub fn new(refusal: Refusal, facts: &LinkFacts) -> Self {
        Self {
            reason: refusal.reason.to_owned(),
            message: refusal.message,
            remedy: refusal.remedy,
            facts: facts.clone(),
        }
    }
}

/// The notes by interface index, in a file.
#[derive(Debug)]
pub struct Refusals {
    path: PathBuf,
    by_ifindex: BTreeMap<u32, Refused>,
}

impl Refusals {
    /// Reads the notes of an earlier run; a file that is absent or damaged is an empty one, since all
    /// that is lost is an explanation.
    pub fn open(state_dir: &Path) -> Self {
        let path = state_dir.join(FILE);
        let read = fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self {
            path,
            by_ifindex: read.unwrap_or_default(),
        }
    }

    /// The note on an interface.
    pub fn get(&self, ifindex: u32) -> Option<&Refused> {
        self.by_ifindex.get(&ifindex)
    }

    /// Notes `refused` (or its end) for an interface, and writes the file if that changes anything.
    pub fn set(&mut self, ifindex: u32, refused: Option<Refused>) -> io::Result<()> {
        if self.by_ifindex.get(&ifindex) == refused.as_ref() {
            return Ok(());
        }
        match refused {
            Some(refused) => self.by_ifindex.insert(ifindex, refused),
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
