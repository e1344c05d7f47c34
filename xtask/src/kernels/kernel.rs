//! The newest kernel of a series: its image and the few modules that the checks need, in the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::archive::{Archive, call};
use super::cache::Cache;

/// In the order in which the guest loads them: what a module needs stands before it.
const MODULES: [&str; 8] = ["llc", "stp", "bridge", "veth", "ifb", "sch_ingress", "cls_bpf", "act_bpf"];
const IMAGE: &str = "vmlinuz";
/// Which package was unpacked, and for which modules.
const CONTENT: &str = "content";

/// An unpacked kernel.
pub struct Kernel {
    /// Debian's version of the package, without the part that names a backport.
    pub version: String,
    folder: PathBuf,
}

impl Kernel {
    /// From the cache if it is the newest, else from the archive; `None` if that has none.
    pub fn get(cache: &Cache, archive: &Archive, series: &str, busybox: &Path) -> Result<Option<Self>> {
        let names = archive.names(&format!("linux-image-{series}."))?;
        let Some(package) = newest(&names) else { return Ok(None) };
        let file = archive.file_name(package)?;
        let version = file.split('_').nth(1).and_then(|version| version.split('~').next());
        let version = version.context("read the version of the kernel's package")?.to_owned();
        let (kept, content) = (format!("linux-{series}"), format!("{file} {}", MODULES.join(" ")));
        let folder = cache.kept(&kept);
        if fs::read_to_string(folder.join(CONTENT)).is_ok_and(|kept| kept == content) {
            return Ok(Some(Self { version, folder }));
        }
        let work = cache.partial().join(&kept);
        let packages = archive.download(&[package.to_owned()], &work.join("package"))?;
        let unpacked = work.join("unpacked");
        unpack(packages.first().context("the kernel's package")?, &unpacked)?;
        let finished = work.join("finished");
        pick(&unpacked, &finished, busybox)?;
        fs::write(finished.join(CONTENT), content).context("note what was unpacked")?;
        Ok(Some(Self { version, folder: cache.keep(&finished, &kept)? }))
    }

    /// The kernel's image.
    pub fn image(&self) -> PathBuf {
        self.folder.join(IMAGE)
    }

    /// The modules, in the order in which they are loaded.
    pub fn modules(&self) -> Vec<PathBuf> {
        MODULES.iter().map(|name| self.folder.join(format!("{name}.ko"))).collect()
    }
}

/// The newest of Debian's plain kernels for this machine: no cloud, real-time or debugging variant.
fn newest(names: &[String]) -> Option<&str> {
    let version = |name: &str| {
        let version = name.strip_prefix("linux-image-")?.strip_suffix("-amd64")?;
        let plain = version.replace("+deb", "+");
        let numbers = plain.split(['.', '-', '+']).map(|part| part.parse().ok());
        numbers.collect::<Option<Vec<u32>>>()
    };
    names.iter().filter_map(|name| Some((version(name)?, name.as_str()))).max().map(|(_, name)| name)
}

/// Only what is needed: a whole kernel is half a gigabyte.
fn unpack(package: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let mut read =
        Command::new("dpkg-deb").arg("--fsys-tarfile").arg(package).stdout(Stdio::piped()).spawn()?;
    let tar = read.stdout.take().context("read the package")?;
    let wanted = MODULES.map(|name| format!("*/{name}.ko*"));
    let unpacked = call(
        Command::new("tar")
            .args(["--extract", "--wildcards", "--directory"])
            .arg(folder)
            .arg("*/vmlinuz*")
            .args(wanted)
            .stdin(tar),
    );
    ensure!(read.wait()?.success() || unpacked.is_err(), "dpkg-deb cannot read {}", package.display());
    unpacked?;
    Ok(())
}

fn pick(unpacked: &Path, finished: &Path, busybox: &Path) -> Result<()> {
    fs::create_dir_all(finished).with_context(|| format!("make {}", finished.display()))?;
    let mut files = Vec::new();
    collect(unpacked, &mut files)?;
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(module) = name.strip_suffix(".xz") {
            let target = File::create(finished.join(module))?;
            let mut unxz = Command::new(busybox);
            let status = unxz.arg("xzcat").arg(&file).stdout(target).status().context("start busybox")?;
            ensure!(status.success(), "cannot unpack {name}");
        } else {
            let target = if name.starts_with(IMAGE) { IMAGE } else { name.as_str() };
            fs::copy(&file, finished.join(target)).with_context(|| format!("copy {name}"))?;
        }
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn the_newest_is_so_by_number() {
        let names = [
            "linux-image-6.12.9+deb12-amd64",
            "linux-image-6.12.90+deb12-amd64",
            "linux-image-6.12.90+deb12.1-amd64",
            "linux-image-6.12.95+deb12-cloud-amd64",
            "linux-image-6.12.95+deb12-amd64-dbg",
            "linux-image-6.12.95+deb12-amd64-unsigned",
            "linux-image-6.12.73+deb12-amd64",
        ]
        .map(str::to_owned);
        assert_eq!(newest(&names), Some("linux-image-6.12.90+deb12.1-amd64"));
        assert_eq!(newest(&names[3..6]), None);
        let old = ["linux-image-6.1.0-9-amd64", "linux-image-6.1.0-50-amd64"].map(str::to_owned);
        assert_eq!(newest(&old), Some("linux-image-6.1.0-50-amd64"));
    }
}
