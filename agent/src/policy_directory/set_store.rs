//! The last good address sets on disk, so that they outlive the agent: a line of JSON for each set, and then its
//! prefixes as bytes.
//!
//! Replaced whole or not at all. A store that cannot be understood is set aside, never a reason to stop.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};
use sluice_ipc::paths::{SETS_FILE, SETS_NEW_FILE, SETS_SET_ASIDE_FILE};
use sluice_policy::CidrSet;

use super::sets::Sets;
use super::store::{replace, set_aside};

const FORMAT: &[u8] = b"sluice.dev/last-good-sets/v1\n";
const V4_BYTES: usize = 5;
const V6_BYTES: usize = 17;

/// What stands before the prefixes of a set.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// The set, without its prefixes.
    set: CidrSet,
    v4: usize,
    v6: usize,
}

/// Where the last good sets are kept.
#[derive(Debug, Clone)]
pub struct SetStore {
    path: PathBuf,
}

impl SetStore {
    pub fn new(state_dir: &Path) -> Self {
        Self { path: state_dir.join(SETS_FILE) }
    }

    /// What was saved last, and what was wrong with it.
    pub fn load(&self) -> (Sets, Option<String>) {
        let read = match fs::read(&self.path) {
            Ok(bytes) => decode(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Sets::new()),
            Err(error) => Err(error),
        };
        match read {
            Ok(sets) => (sets, None),
            Err(error) => (Sets::new(), Some(set_aside(&self.path, SETS_SET_ASIDE_FILE, &error))),
        }
    }

    /// Replaces the store. After a crash at any point, the old one or the new one is there.
    pub fn save(&self, sets: &Sets) -> io::Result<()> {
        replace(&self.path, SETS_NEW_FILE, &encode(sets)?)
    }
}

fn encode(sets: &Sets) -> io::Result<Vec<u8>> {
    let mut bytes = FORMAT.to_vec();
    for set in sets.values() {
        let v4 = set.prefixes.iter().filter(|prefix| prefix.addr().is_ipv4()).count();
        let head = Head { v4, v6: set.prefixes.len() - v4, set: without_prefixes(set) };
        serde_json::to_writer(&mut bytes, &head)?;
        bytes.push(b'\n');
        // IPv4 comes first in the order of prefixes.
        for prefix in &set.prefixes {
            match prefix {
                IpNet::V4(prefix) => bytes.extend(prefix.addr().octets()),
                IpNet::V6(prefix) => bytes.extend(prefix.addr().octets()),
            }
            bytes.push(prefix.prefix_len());
        }
    }
    Ok(bytes)
}

fn without_prefixes(set: &CidrSet) -> CidrSet {
    CidrSet {
        name: set.name.clone(),
        file: set.file.clone(),
        labels: set.labels.clone(),
        strict: set.strict,
        prefixes: Vec::new(),
        report: set.report.clone(),
    }
}

fn decode(bytes: &[u8]) -> io::Result<Sets> {
    let mut rest = bytes.strip_prefix(FORMAT).ok_or_else(|| io::Error::other("its format is another one"))?;
    let mut sets = Sets::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(cut_off)?;
        let Head { mut set, v4, v6 } = serde_json::from_slice(&rest[..end])?;
        rest = &rest[end + 1..];
        set.prefixes = v4_prefixes(take(&mut rest, v4, V4_BYTES)?)?;
        set.prefixes.extend(v6_prefixes(take(&mut rest, v6, V6_BYTES)?)?);
        sets.insert(set.name.clone(), Arc::new(set));
    }
    Ok(sets)
}

fn take<'a>(rest: &mut &'a [u8], count: usize, size: usize) -> io::Result<&'a [u8]> {
    let bytes = count.checked_mul(size).ok_or_else(cut_off)?;
    let (taken, left) = rest.split_at_checked(bytes).ok_or_else(cut_off)?;
    *rest = left;
    Ok(taken)
}

fn v4_prefixes(bytes: &[u8]) -> io::Result<Vec<IpNet>> {
    let prefix = |[a, b, c, d, length]: &[u8; V4_BYTES]| {
        Ipv4Net::new(Ipv4Addr::new(*a, *b, *c, *d), *length).map(IpNet::V4).map_err(io::Error::other)
    };
    bytes.as_chunks().0.iter().map(prefix).collect()
}

fn v6_prefixes(bytes: &[u8]) -> io::Result<Vec<IpNet>> {
    let prefix = |[address @ .., length]: &[u8; V6_BYTES]| {
        Ipv6Net::new(Ipv6Addr::from(*address), *length).map(IpNet::V6).map_err(io::Error::other)
    };
    bytes.as_chunks().0.iter().map(prefix).collect()
}

fn cut_off() -> io::Error {
    io::Error::other("its end is missing")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn sets() -> Sets {
        let feed = b"# labels: list=big\n192.0.2.0/24\n198.51.100.7\nrubbish\n2001:db8::/32\n";
        let files = [("drop.cidrs", &feed[..]), ("other.cidrs", b"::/0\n")];
        let all = files.iter().flat_map(|(file, bytes)| sluice_policy::parse_file(file, bytes).sets);
        all.filter_map(|set| set.result.ok()).map(|set| (set.name.clone(), Arc::new(set))).collect()
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let store = SetStore::new(directory.path());
        assert_eq!(store.load(), (Sets::new(), None));
        let sets = sets();
        assert_eq!(sets["drop"].prefixes.len(), 3);
        store.save(&sets).unwrap();
        assert_eq!(store.load(), (sets, None));
    }

    #[test]
    fn what_cannot_be_understood_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let store = SetStore::new(directory.path());
        let good = encode(&sets()).unwrap();
        for bytes in [&good[..good.len() - 1], b"", b"something else", &[&good[..], b"{"].concat()] {
            fs::write(&store.path, bytes).unwrap();
            let (sets, problem) = store.load();
            assert!(sets.is_empty());
            let problem = problem.unwrap();
            assert!(problem.contains(SETS_SET_ASIDE_FILE), "{problem}");
            assert_eq!(fs::read(directory.path().join(SETS_SET_ASIDE_FILE)).unwrap(), bytes);
        }
    }
}
