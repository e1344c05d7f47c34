//! Which files somebody is in the middle of writing, as far as the events tell.
//!
//! Never believes it for long: not every change of a file ends with a closing, and a writer may hang.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

use rustix::fs::inotify::ReadFlags;

/// How long after its last change a file that was not closed counts as being written.
const PATIENCE: Duration = Duration::from_secs(3);

/// The files, and when each was last written to.
#[derive(Debug, Default)]
pub struct Writing(HashMap<OsString, Instant>);

impl Writing {
    /// Takes an event of `file` into account.
    pub fn note(&mut self, file: &OsStr, flags: ReadFlags, now: Instant) {
        if flags.intersects(ReadFlags::MODIFY) {
            self.0.insert(file.to_owned(), now);
        } else if !flags.intersects(ReadFlags::ATTRIB) {
            self.0.remove(file);
        }
    }

    pub fn contains(&self, file: &OsStr) -> bool {
        self.0.contains_key(file)
    }

    /// Events were lost: nothing is known.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// When a writer will have had its time. `None`: nobody writes.
    pub fn due(&self) -> Option<Instant> {
        self.0.values().min().map(|last| *last + PATIENCE)
    }

    /// Gives up waiting for writers that have had their time. `true`: there were some.
    pub fn give_up(&mut self, now: Instant) -> bool {
        let before = self.0.len();
        self.0.retain(|_, last| *last + PATIENCE > now);
        self.0.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_waited_for_until_it_closes_or_has_been_quiet_for_long() {
        let (mut writing, start) = (Writing::default(), Instant::now());
        let (one, other) = (OsStr::new("a.yaml"), OsStr::new("b.yaml"));
        writing.note(one, ReadFlags::MODIFY, start);
        writing.note(one, ReadFlags::ATTRIB, start);
        writing.note(other, ReadFlags::MODIFY, start);
        writing.note(other, ReadFlags::CLOSE_WRITE, start);
        assert!(writing.contains(one) && !writing.contains(other));
        writing.note(one, ReadFlags::MODIFY, start + PATIENCE / 2);
        assert_eq!(writing.due(), Some(start + PATIENCE / 2 + PATIENCE));
        assert!(!writing.give_up(start + PATIENCE) && writing.contains(one));
        assert!(writing.give_up(start + PATIENCE * 2) && !writing.contains(one));
        assert_eq!(writing.due(), None);
    }
}
