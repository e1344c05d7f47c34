//! QEMU and busybox, unpacked into the cache and run from there. It emulates every instruction: hardware
//! help is not asked for, because not every machine that has it can boot a stock kernel with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::archive::{Archive, call};
use super::cache::Cache;

const NAME: &str = "emulator";
const SUITE: &str = "bookworm-backports";
const PACKAGES: [&str; 4] = ["qemu-system-x86", "qemu-system-data", "seabios", "busybox-static"];
const LIBRARIES: [&str; 2] = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"];
/// Which packages were unpacked.
const CONTENT: &str = "packages";

/// An unpacked emulator.
pub struct Emulator {
    root: PathBuf,
}

impl Emulator {
    /// From the cache if it is the newest, else from the archive.
    pub fn get(cache: &Cache, archive: &Archive) -> Result<Self> {
        let packages = archive.missing(&PACKAGES, SUITE)?;
        let (content, root) = (packages.join("\n"), cache.kept(NAME));
        if fs::read_to_string(root.join(CONTENT)).is_ok_and(|kept| kept == content) {
            return Ok(Self { root });
        }
        let unpacked = cache.partial().join(NAME);
        for file in archive.download(&packages, &cache.partial().join("emulator-packages"))? {
            call(Command::new("dpkg-deb").arg("--extract").args([&file, &unpacked]))?;
        }
        fs::write(unpacked.join(CONTENT), content).context("note what was unpacked")?;
        Ok(Self { root: cache.keep(&unpacked, NAME)? })
    }

    /// A static busybox, for the guest and for unpacking.
    pub fn busybox(&self) -> PathBuf {
        self.root.join("bin/busybox")
    }

    /// A machine that boots `kernel`, asks `programs` in turn, and ends. Its console is standard output.
    /// It has no network and no disk, and ends with this process however that ends.
    pub fn guest(&self, kernel: &Path, initramfs: &Path, programs: &[&str]) -> Command {
        let [modules, _] = LIBRARIES.map(|folder| self.root.join(folder));
        let libraries = LIBRARIES.map(|folder| self.root.join(folder).display().to_string()).join(":");
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(self.root.join("usr/bin/qemu-system-x86_64"))
            .arg("-L")
            .arg(self.root.join("usr/share/qemu"))
            .arg("-L")
            .arg(self.root.join("usr/share/seabios"))
            .args([
                "-machine",
                "q35",
                "-accel",
                "tcg,thread=multi",
                "-cpu",
                "qemu64",
                "-smp",
                "2",
                "-m",
                "1G",
            ])
            .args(["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio", "-kernel"])
            .arg(kernel)
            .arg("-initrd")
            .arg(initramfs)
            // The kernel hands `checks` to the first process as a variable of its environment. Its own check
            // of the timer fails, and it panics, where a busy host lets the guest wait for its first ticks.
            .args([
                "-append",
                &format!(
                    "console=ttyS0 panic=-1 quiet loglevel=1 no_timer_check checks={}",
                    programs.join(",")
                ),
            ])
            .env("QEMU_MODULE_DIR", modules.join("qemu"))
            .env("LD_LIBRARY_PATH", libraries);
        command
    }
}
