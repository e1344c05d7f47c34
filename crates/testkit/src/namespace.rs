//! Network namespaces of one test. It never touches the namespace that the test was started in.

use crate::feature::search_path;
use crate::leftovers;
use crate::owner::unique_name;
use anyhow::{Context as _, Result, bail, ensure};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::thread::{self, JoinHandle};

/// Where `ip netns` keeps its namespaces.
pub(crate) const FOLDER: &str = "/run/netns";

/// A network namespace, visible to `ip netns`. Dropping it kills what still runs inside and removes it.
#[derive(Debug)]
pub struct NetworkNamespace {
    name: String,
    file: File,
}

/// What the kernel has counted for one device.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(missing_docs, reason = "The kernel's own names.")]
pub struct DeviceCounters {
    pub rx_packets: u64,
    pub rx_dropped: u64,
    pub tx_packets: u64,
    pub tx_dropped: u64,
}

impl NetworkNamespace {
    /// Makes a namespace with its loopback device up. `purpose` becomes part of its name.
    pub fn new(purpose: &str) -> Result<Self> {
        leftovers::remove_once();
        let name = unique_name(purpose)?;
        run(Command::new("ip").args(["netns", "add", &name]))?;
        let file =
            File::open(Path::new(FOLDER).join(&name)).with_context(|| format!("open namespace {name}"))?;
        let namespace = Self { name, file };
        namespace.ip("link set dev lo up")?;
        Ok(namespace)
    }

    /// The name that `ip netns` shows.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that stands for the namespace.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(&self.name)
    }

    /// Calls `work` on a fresh thread inside the namespace and returns its value. A panic goes through.
    ///
    /// # Panics
    /// If the namespace cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            self.enter().expect("enter the network namespace");
            work()
        };
        thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Like [`Self::run`] for a thread that goes on in the background.
    ///
    /// # Panics
    /// If no thread can be started; the thread itself, if the namespace cannot be entered.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let file = self.file.try_clone().expect("duplicate the descriptor of the namespace");
        let inside = move || {
            enter(&file).expect("enter the network namespace");
            work()
        };
        thread::Builder::new().name(name.to_owned()).spawn(inside).expect("start a thread")
    }

    /// A command that will run inside the namespace, and see the same files as the caller (bpffs too).
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net={}", self.path().display()))
            .arg("--")
            .arg(program)
            .env("PATH", search_path());
        command
    }

    /// A command that will run inside the namespace with a `/sys` that shows the namespace's own devices,
    /// but without bpffs.
    #[must_use]
    pub fn command_with_own_sys(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program).env("PATH", search_path());
        command
    }

    /// Runs `ip` with these words inside the namespace; returns what it printed.
    pub fn ip(&self, words: &str) -> Result<String> {
        run(self.command("ip").args(words.split_ascii_whitespace()))
    }

    /// Runs a whole command line of plain words inside the namespace; returns what it printed.
    pub fn call(&self, words: &str) -> Result<String> {
        let mut words = words.split_ascii_whitespace();
        let program = words.next().context("no program given")?;
        run(self.command(program).args(words))
    }

    /// What the kernel has counted for `device`.
    pub fn counters(&self, device: &str) -> Result<DeviceCounters> {
        let table = self.run(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        let line =
            table.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == device);
        let (_, numbers) = line.with_context(|| format!("no device {device} in {}", self.name))?;
        let numbers: Vec<u64> = numbers.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        ensure!(numbers.len() == 16, "/proc/net/dev has {} columns instead of 16", numbers.len());
        Ok(DeviceCounters {
            rx_packets: numbers[1],
            rx_dropped: numbers[3],
            tx_packets: numbers[9],
            tx_dropped: numbers[11],
        })
    }

    fn enter(&self) -> io::Result<()> {
        enter(&self.file)
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path()) {
            eprintln!("could not remove a network namespace: {error:#}");
        }
    }
}

fn enter(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Kills what still runs in a namespace of ours, and removes it.
pub(crate) fn remove(path: &Path) -> Result<()> {
    kill_inside(path);
    // A process that died between mount and rename leaves a plain file: EINVAL, and only the file goes.
    match unmount(path, UnmountFlags::DETACH) {
        Ok(()) | Err(rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error).with_context(|| format!("unmount {}", path.display())),
    }
    fs::remove_file(path).with_context(|| format!("remove {}", path.display()))
}

fn kill_inside(path: &Path) {
    let Ok(namespace) = fs::metadata(path).map(|file| (file.dev(), file.ino())) else {
        return;
    };
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        let Some(pid) = pid.filter(|pid| u32::try_from(*pid) != Ok(process::id())).and_then(Pid::from_raw)
        else {
            continue;
        };
        let inside =
            fs::metadata(entry.path().join("ns/net")).is_ok_and(|net| (net.dev(), net.ino()) == namespace);
        // A process that ends by itself meanwhile is as good as killed.
        if inside && let Err(error) = kill_process(pid, Signal::KILL) {
            eprintln!("process {} in {} outlived its test: {error}", pid.as_raw_nonzero(), path.display());
        }
    }
}

/// Runs a command to its end; its standard output, or an error with what it said.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command.env("PATH", search_path()).output().with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
