//! Runs one guest to its end, with a deadline, and never leaves it behind.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::demo::interrupt;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Starts the machine and returns what it wrote on its console. A guest that does not end is stopped, and
/// what it has not answered counts as failed.
pub fn run(mut command: Command, console: &Path, deadline: Duration) -> Result<String> {
    let errors = console.with_extension("errors");
    command.stdin(Stdio::null()).stdout(create(console)?).stderr(create(&errors)?);
    let mut guest = Guest(command.spawn().context("start the emulator")?);
    let started = Instant::now();
    let status = loop {
        if let Some(status) = guest.0.try_wait().context("wait for the guest")? {
            break Some(status);
        }
        interrupt::check()?;
        if started.elapsed() > deadline {
            break None;
        }
        sleep(POLL_INTERVAL);
    };
    let mut text = String::from_utf8_lossy(&read(console)?).replace('\r', "");
    match status {
        Some(status) if status.success() => {}
        Some(status) => bail!("the emulator: {status}: {}", String::from_utf8_lossy(&read(&errors)?).trim()),
        None => text = format!("{text}\nguest: stopped after {} s\n", deadline.as_secs()),
    }
    Ok(text)
}

/// Killed when dropped, unless it has ended.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait()) {
            eprintln!("a guest could not be stopped: {error}");
        }
    }
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("make {}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("read {}", path.display()))
}
