//! The name servers of the node, from `resolv.conf`: their answers belong to the failsafe. Asleep until the file
//! changes. What cannot be read changes nothing.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use tracing::{info, warn};

use crate::policy_directory::Watch;

/// Where systemd-resolved lists the servers that it asks; `resolv.conf` then names itself.
const BEHIND_SYSTEMD_RESOLVED: &str = "/run/systemd/resolve/resolv.conf";
/// The kernel follows so many links.
const MOST_LINKS: usize = 40;

/// The name servers, and what says that they change.
pub struct Resolvers {
    path: PathBuf,
    behind_local: PathBuf,
    watch: Watch,
    known: Vec<IpAddr>,
    failed: bool,
}

impl Resolvers {
    /// Watches `path`, within a Tokio runtime.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with_local(path, Path::new(BEHIND_SYSTEMD_RESOLVED))
    }

    fn with_local(path: &Path, behind_local: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let (behind_local, watch) = (behind_local.to_path_buf(), Watch::new()?);
        Ok(Self { path, behind_local, watch, known: Vec::new(), failed: false })
    }

    /// Reads the file as it is now; without a file that can be read, what was known stays.
    pub fn read(&mut self) -> Vec<IpAddr> {
        self.watch.begin();
        let found = self.all();
        self.watch.finish();
        match found {
            Ok(Some(found)) => {
                if found != self.known {
                    info!(resolvers = ?found, "name servers");
                    self.known = found;
                }
                self.failed = false;
            }
            Ok(None) => {}
            Err(error) => {
                if !self.failed {
                    let path = self.path.display();
                    warn!("cannot read {path}: {error}; the failsafe keeps the name servers that it has");
                }
                self.failed = true;
            }
        }
        self.known.clone()
    }

    /// `None` while somebody is in the middle of writing.
    fn all(&mut self) -> io::Result<Option<Vec<IpAddr>>> {
        let Some(named) = self.one(&self.path.clone())? else { return Ok(None) };
        let mut servers: BTreeSet<IpAddr> = named.iter().copied().filter(|one| !one.is_loopback()).collect();
        if named.iter().any(IpAddr::is_loopback) {
            match self.one(&self.behind_local.clone()) {
                Ok(Some(behind)) => servers.extend(behind.into_iter().filter(|one| !one.is_loopback())),
                Ok(None) => return Ok(None),
                // Another local server than systemd-resolved: whom it asks cannot be told.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(servers.into_iter().collect()))
    }

    fn one(&mut self, path: &Path) -> io::Result<Option<Vec<IpAddr>>> {
        let name = path.file_name().unwrap_or(OsStr::new("resolv.conf")).to_owned();
        follow(&mut self.watch, path);
        self.watch.linked_file(path, &name);
        if self.watch.is_being_written(&name) {
            return Ok(None);
        }
        Ok(Some(parse(&fs::read_to_string(path)?)))
    }

    /// Returns when the file may have changed. Loses nothing if it is dropped meanwhile.
    pub async fn changed(&mut self) -> io::Result<()> {
        self.watch.changed().await
    }
}

/// Watches the place of `path`, and where it leads, if it is a link.
fn follow(watch: &mut Watch, path: &Path) {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        // Of what is no directory, it watches where it would appear.
        watch.directory(&path);
        let (Ok(target), Some(folder)) = (fs::read_link(&path), path.parent()) else { return };
        path = folder.join(target);
    }
}

/// The addresses behind `nameserver`. A link-local one may have its device behind a `%`.
fn parse(text: &str) -> Vec<IpAddr> {
    let servers = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and_then(|_| words.next())?;
        address.split('%').next()?.parse().ok()
    });
    servers.collect()
}

#[cfg(test)]
#[path = "resolvers_tests.rs"]
mod tests;
