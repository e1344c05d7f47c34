//! Names that say which process owns a thing, so that what a killed test left behind can be told from
//! what a running one uses. The start time of the process is part of the name: a recycled process id
//! does not protect garbage.

use anyhow::{Context as _, Result};
use std::fs;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

const PREFIX: &str = "sl";
static NEXT: AtomicU32 = AtomicU32::new(0);

/// `sl-<pid>-<start time>-<n>-<purpose>`; only letters, digits and dashes, since bpffs refuses dots.
pub(crate) fn unique_name(purpose: &str) -> Result<String> {
    let pid = process::id();
    let start = start_time(pid).context("read this process's own start time from /proc")?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let purpose: String = purpose.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(format!("{PREFIX}-{pid}-{start}-{number}-{purpose}"))
}

/// Whether `name` was given by [`unique_name`] in a process that no longer runs.
pub(crate) fn owner_is_dead(name: &str) -> bool {
    let mut parts = name.splitn(5, '-');
    if parts.next() != Some(PREFIX) {
        return false;
    }
    let (Some(pid), Some(start)) = (number(parts.next()), number(parts.next())) else {
        return false;
    };
    let Ok(pid) = u32::try_from(pid) else { return false };
    // Without a number and a purpose it is not ours.
    parts.next().is_some() && parts.next().is_some() && start_time(pid) != Some(start)
}

fn number(text: Option<&str>) -> Option<u64> {
    text?.parse().ok()
}

/// The start time of a process in clock ticks since boot; `None` for a zombie or no such process.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold spaces and parentheses: the fields are counted from the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    // Field 22 of the file; the iterator stands at field 4.
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{owner_is_dead, start_time, unique_name};
    use std::process::{self, Command};

    #[test]
    fn names_of_this_process_are_unique_and_alive() {
        let (first, second) = (unique_name("a.b/c").unwrap(), unique_name("a.b/c").unwrap());
        assert_ne!(first, second);
        assert!(first.ends_with("-a-b-c"), "{first}");
        assert!(!owner_is_dead(&first));
    }

    #[test]
    fn a_recycled_process_id_does_not_protect() {
        let pid = process::id();
        let start = start_time(pid).unwrap();
        assert!(!owner_is_dead(&format!("sl-{pid}-{start}-0-x")));
        assert!(owner_is_dead(&format!("sl-{pid}-{}-0-x", start + 1)));
    }

    #[test]
    fn a_zombie_is_dead() {
        let mut child = Command::new("cat").stdin(process::Stdio::piped()).spawn().unwrap();
        let name = format!("sl-{}-{}-0-x", child.id(), start_time(child.id()).unwrap());
        assert!(!owner_is_dead(&name));
        child.kill().unwrap();
        crate::wait_until(std::time::Duration::from_secs(10), "the child is a zombie", || {
            owner_is_dead(&name)
        });
        child.wait().unwrap();
    }

    #[test]
    fn foreign_names_are_never_claimed() {
        for name in
            ["", "sl", "sl-1", "sl-4000000-1", "sl-4000000-1-2", "cni-4000000-1-2-x", "sl-x-1-2-y", "default"]
        {
            assert!(!owner_is_dead(name), "{name}");
        }
    }
}
