//! What the kernel tells of a process of ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Processor time of a process, and the wake-ups of each of its threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Clock ticks in user and kernel mode, all threads together, those that have ended too.
    ticks: u64,
    /// By thread: times that it went to sleep by itself, and so was woken before.
    sleeps: BTreeMap<String, u64>,
}

/// Reads both.
pub fn usage(pid: u32) -> Result<Usage> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let stat = read(&folder.join("stat"))?;
    let mut sleeps = BTreeMap::new();
    for thread in fs::read_dir(folder.join("task")).context("list the threads of the agent")? {
        let thread = thread?;
        // A thread may end between the listing and the reading.
        if let Ok(status) = fs::read_to_string(thread.path().join("status")) {
            let name = thread.file_name().to_string_lossy().into_owned();
            sleeps.insert(name, field(&status, "voluntary_ctxt_switches")?);
        }
    }
    Ok(Usage { ticks: ticks(&stat).context("read the agent's processor time")?, sleeps })
}

impl Usage {
    /// Clock ticks since an earlier reading.
    pub fn ticks_since(&self, before: &Self) -> u64 {
        self.ticks.saturating_sub(before.ticks)
    }

    /// Wake-ups since an earlier reading. A thread that has ended took its count along: it was woken to end.
    pub fn wake_ups_since(&self, before: &Self) -> u64 {
        let ended = before.sleeps.keys().filter(|thread| !self.sleeps.contains_key(*thread));
        let since = |(thread, count): (&String, &u64)| {
            count.saturating_sub(before.sleeps.get(thread).copied().unwrap_or_default())
        };
        ended.map(|_| 1).chain(self.sleeps.iter().map(since)).sum()
    }
}

/// Resident memory in MB, now.
#[allow(clippy::cast_precision_loss, reason = "Memory sizes fit.")]
pub fn resident_megabytes(pid: u32) -> Result<f64> {
    let status = read(Path::new(&format!("/proc/{pid}/status")))?;
    Ok(field(&status, "VmRSS")? as f64 * 1024.0 / 1e6)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

/// The number behind a title; units are left out.
fn field(status: &str, title: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(title)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
    number.with_context(|| format!("the kernel tells no {title}"))
}

/// User and system time. The command's name may hold spaces: fields are counted from its closing bracket.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::{Usage, field, resident_megabytes, ticks, usage};

    #[test]
    fn ticks_behind_an_odd_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 30 12 13 14";
        assert_eq!(ticks(stat), Some(42));
        assert_eq!(ticks("7"), None);
    }

    #[test]
    fn fields_by_title() {
        let status = "VmRSS:\t   20480 kB\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(field(status, "VmRSS").ok(), Some(20480));
        assert_eq!(field(status, "voluntary_ctxt_switches").ok(), Some(17));
        assert!(field(status, "VmSwap").is_err());
    }

    #[test]
    fn a_thread_that_ended_counts_once() {
        let at = |ticks, sleeps: &[(&str, u64)]| Usage {
            ticks,
            sleeps: sleeps.iter().map(|(thread, count)| ((*thread).to_owned(), *count)).collect(),
        };
        let (before, now) = (at(7, &[("1", 100), ("2", 5000)]), at(9, &[("1", 103), ("3", 4)]));
        assert_eq!((now.ticks_since(&before), now.wake_ups_since(&before)), (2, 3 + 4 + 1));
        assert_eq!(now.wake_ups_since(&now), 0);
    }

    #[test]
    fn this_process_uses_something() {
        let pid = std::process::id();
        let used = usage(pid);
        assert!(used.is_ok_and(|used| !used.sleeps.is_empty() && used.ticks_since(&used) == 0));
        assert!(resident_megabytes(pid).is_ok_and(|megabytes| megabytes > 0.5));
    }
}
