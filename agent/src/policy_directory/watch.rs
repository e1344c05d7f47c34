//! What the kernel says about changes in and around the policy directory. Asleep until it says something.
//!
//! Watched are the directory, the files outside to which links in it lead, and above it every place where the
//! path can begin to lead elsewhere: where a part of it is missing or is a symbolic link. Reads no file.
//!
//! What always holds:
//! - The kernel has one watch per inode, so each watch has *roles*: all the reasons for which its inode is
//!   watched. An event counts if it matters to one of them.
//! - A reading asks for all its watches anew, between [`Watch::begin`] and [`Watch::finish`]. A role of an
//!   earlier *generation* is forgotten when its watch is asked for again, and a watch that was not asked for
//!   again ends. So roles never outlive the reading that gave them, and between readings every watch has one.
//! - A watch is there before what it watches is read: what changes later brings an event, and what changed
//!   before was read.
//! - A file *being written* is not read anew until it is closed or exchanged, or its writer has been quiet for
//!   a while; either way there is a reading then. Only for that while there is a timer.

use std::cmp;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{metadata, symlink_metadata};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use sluice_dataplane::links::{Burst, Readable};

use super::writing::Writing;

const QUIET: Duration = Duration::from_millis(2);
const LIMIT: Duration = Duration::from_millis(20);
/// A path that goes on changing while it is followed is followed again after the next event.
const ATTEMPTS: usize = 8;

const ENTRIES: WatchFlags =
    WatchFlags::CREATE.union(WatchFlags::MOVED_FROM).union(WatchFlags::MOVED_TO).union(WatchFlags::DELETE);
const ITSELF: WatchFlags = WatchFlags::DELETE_SELF.union(WatchFlags::MOVE_SELF).union(WatchFlags::ATTRIB);
const WRITES: WatchFlags = WatchFlags::MODIFY.union(WatchFlags::CLOSE_WRITE);

/// Why something is watched. One inode may be watched for several reasons.
#[derive(Debug, Default)]
struct Roles {
    generation: u64,
    /// It is the policy directory.
    directory: bool,
    /// The path leads through these names in it.
    way: BTreeSet<OsString>,
    /// These links in the policy directory lead to it.
    linked_as: BTreeSet<OsString>,
}

/// The watches and what they have said so far.
#[derive(Debug)]
pub struct Watch {
    inotify: Readable<OwnedFd>,
    watched: HashMap<i32, Roles>,
    generation: u64,
    burst: Burst,
    writing: Writing,
    problem: Option<String>,
}

impl Watch {
    pub fn new() -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Self {
            inotify: Readable::new(inotify)?,
            watched: HashMap::new(),
            generation: 0,
            burst: Burst::new(QUIET, LIMIT, Duration::ZERO),
            writing: Writing::default(),
            problem: None,
        })
    }

    /// Begins a new set of watches: those that are not asked for again until [`Self::finish`] end.
    pub fn begin(&mut self) {
        self.generation += 1;
        self.problem = None;
    }

    /// Watches `directory`, or where it would appear.
    pub fn directory(&mut self, directory: &Path) {
        for _ in 0..ATTEMPTS {
            let before = reachable(directory);
            let flags = ENTRIES | ITSELF | WRITES | WatchFlags::ONLYDIR;
            // Writing to a file that is no longer there says nothing about the one that has its name now.
            let found = self.add(directory, flags | WatchFlags::EXCL_UNLINK, |roles| {
                roles.directory = true;
            });
            for path in directory.ancestors() {
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    break;
                };
                let is_link = symlink_metadata(path).is_ok_and(|found| found.is_symlink());
                let is_there =
                    metadata(path).is_ok_and(|found| found.is_dir()) && (found || path != directory);
                if is_link || !is_there {
                    self.add(parent, ENTRIES | ITSELF | WatchFlags::ONLYDIR, |roles| {
                        roles.way.insert(name.to_owned());
                    });
                }
            }
            // What appeared before its watch was there is seen by another look.
            if reachable(directory) == before {
                break;
            }
        }
    }

    /// Watches the file to which the link `name` at `path` leads.
    pub fn linked_file(&mut self, path: &Path, name: &OsStr) {
        self.add(path, ITSELF | WRITES, |roles| {
            roles.linked_as.insert(name.to_owned());
        });
    }

    /// Ends what was not asked for again.
    pub fn finish(&mut self) {
        let (generation, inotify) = (self.generation, self.inotify.get_ref());
        self.watched.retain(|watch, roles| {
            let wanted = roles.generation == generation;
            if !wanted {
                // It fails only if the kernel has ended the watch by itself.
                inotify::remove_watch(inotify, *watch).ok();
            }
            wanted
        });
    }

    /// Why changes may go unnoticed.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether somebody is in the middle of writing the file.
    pub fn is_being_written(&self, name: &OsStr) -> bool {
        self.writing.contains(name)
    }

    /// Takes the events that are there. `true`: something has changed since the last call.
    pub fn take_changes(&mut self) -> io::Result<bool> {
        self.drain()?;
        let changed = self.burst.due().is_some();
        self.burst = Burst::new(QUIET, LIMIT, Duration::ZERO);
        Ok(changed)
    }

    /// What has been taken was not the end of it: there has to be another reading.
    pub fn changed_meanwhile(&mut self) {
        self.burst.urgent(Instant::now());
    }

    /// Returns when something has changed and a burst of changes is over. Loses nothing if it is dropped.
    pub async fn changed(&mut self) -> io::Result<()> {
        loop {
            self.drain()?;
            if self.burst.take(Instant::now()) {
                return Ok(());
            }
            match earlier(self.burst.due(), self.writing.due()) {
                None => self.inotify.readable().await?,
                Some(due) => tokio::select! {
                    ready = self.inotify.readable() => ready?,
                    () = tokio::time::sleep_until(due.into()) => {}
                },
            }
        }
    }

    fn add(&mut self, path: &Path, flags: WatchFlags, role: impl FnOnce(&mut Roles)) -> bool {
        let generation = self.generation;
        // MASK_ADD, because one inode may be watched for several reasons.
        match inotify::add_watch(self.inotify.get_ref(), path, flags | WatchFlags::MASK_ADD) {
            Ok(watch) => {
                let roles = self.watched.entry(watch).or_default();
                if roles.generation != generation {
                    *roles = Roles { generation, ..Roles::default() };
                }
                role(roles);
                true
            }
            Err(error) => {
                // Whatever else stands in the way of watching stands in the way of reading, too.
                if matches!(error, Errno::NOSPC | Errno::NOMEM) {
                    let room = match error {
                        Errno::NOSPC => "raise the sysctl fs.inotify.max_user_watches",
                        _ => "the kernel has no memory for it",
                    };
                    self.problem =
                        Some(format!("changes of {} are noticed late only: {room}", path.display()));
                }
                false
            }
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = Vec::new();
        let mut reader = inotify::Reader::new(self.inotify.get_ref(), &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned());
                    events.push((event.wd(), event.events(), name));
                }
                Err(Errno::WOULDBLOCK) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let now = Instant::now();
        for (watch, flags, name) in events {
            if self.matters(watch, flags, name.as_deref(), now) {
                self.burst.urgent(now);
            }
        }
        if self.writing.give_up(now) {
            self.burst.urgent(now);
        }
        Ok(())
    }

    fn matters(&mut self, watch: i32, flags: ReadFlags, name: Option<&OsStr>, now: Instant) -> bool {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.writing.forget();
            return true;
        }
        let Some(roles) = self.watched.get(&watch) else {
            return false;
        };
        let written = roles.linked_as.iter().map(OsString::as_os_str);
        let written = written.chain(name.filter(|name| roles.directory && !is_hidden(name)));
        for file in written {
            self.writing.note(file, flags, now);
        }
        let matters = match name {
            _ if flags.intersects(ReadFlags::IGNORED) => false,
            // Half-written contents are nobody's wish: the closing of the file is what counts.
            _ if flags.intersects(ReadFlags::MODIFY) => false,
            None => true,
            Some(name) => (roles.directory && !is_hidden(name)) || roles.way.contains(name),
        };
        if flags.intersects(ReadFlags::IGNORED) {
            self.watched.remove(&watch);
        }
        matters
    }
}

/// Hidden files are no policies; names with two dots are how a whole directory is exchanged at once.
fn is_hidden(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.starts_with(b".") && !bytes.starts_with(b"..")
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.zip(other).map(|(one, other)| cmp::min(one, other)).or(one).or(other)
}

/// How many parts of the path lead to a directory.
fn reachable(path: &Path) -> usize {
    path.ancestors().filter(|path| metadata(path).is_ok_and(|found| found.is_dir())).count()
}
