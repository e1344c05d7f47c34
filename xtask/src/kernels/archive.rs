//! Some suites of Debian's archive, through apt with a configuration and lists of our own: it downloads and
//! checks signatures, and never sees or changes what apt keeps for this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::mirror;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The suites, with lists as fresh as the mirror lets us.
pub struct Archive {
    configuration: PathBuf,
}

impl Archive {
    /// Fetches the lists of `suites` into `folder`. Where the mirror does not answer, the lists of an
    /// earlier run serve, and it is said.
    pub fn open(folder: &Path, suites: &[&str]) -> Result<Self> {
        let archive = Self { configuration: configure(folder, &mirror::find()?, suites)? };
        let had_lists = has_lists(folder);
        // Else apt takes a mirror that is away for a success.
        let mut update = archive.command("apt-get");
        update.args(["--quiet=2", "-o", "APT::Update::Error-Mode=any", "update"]);
        match call(&mut update).with_context(|| format!("the mirror has no lists of {}", suites.join(", "))) {
            Ok(_) => {}
            Err(error) if had_lists => {
                eprintln!("{error:#}\nkernels: going on with the lists of an earlier run");
            }
            Err(error) => return Err(error),
        }
        Ok(archive)
    }

    /// Names of the packages that begin so.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let names = call(self.command("apt-cache").args(["pkgnames", prefix]))?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// The name of the file that holds the newest version of a package.
    pub fn file_name(&self, package: &str) -> Result<String> {
        let line = call(self.command("apt-get").args(["--quiet=2", "download", "--print-uris", package]))?;
        let name = line.split_ascii_whitespace().nth(1);
        Ok(name.with_context(|| format!("apt names no file for {package}"))?.to_owned())
    }

    /// `packages` and what they need beyond what this machine has, each as name=version.
    pub fn missing(&self, packages: &[&str], suite: &str) -> Result<Vec<String>> {
        let mut simulate = self.command("apt-get");
        simulate.args(["install", "--simulate", "--reinstall", "--no-install-recommends", "-t", suite]);
        let plan = call(simulate.args(packages))?;
        Ok(plan.lines().filter_map(installed).collect())
    }

    /// Downloads the files of `packages` into `folder`.
    pub fn download(&self, packages: &[String], folder: &Path) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        call(self.command("apt-get").args(["--quiet=2", "download"]).args(packages).current_dir(folder))?;
        let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
        let files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        ensure!(files.len() == packages.len(), "apt downloaded {} of {}", files.len(), packages.join(" "));
        Ok(files)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("APT_CONFIG", &self.configuration)
            .env("LC_ALL", "C")
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

fn configure(folder: &Path, mirror: &str, suites: &[&str]) -> Result<PathBuf> {
    let here = folder.display();
    for needed in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.join(needed)).with_context(|| format!("make {here}/{needed}"))?;
    }
    let suites = suites.join(" ");
    let sources = format!(
        "Types: deb\nURIs: {mirror}\nSuites: {suites}\nComponents: main\nArchitectures: amd64\nSigned-By: {KEYRING}\n"
    );
    let configuration = format!(
        "Dir::Etc::sourcelist \"{here}/debian.sources\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         Dir::State::lists \"{here}/lists\";\n\
         Dir::Cache \"{here}/cache\";\n\
         Dir::Cache::pkgcache \"\";\n\
         Dir::Cache::srcpkgcache \"\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n\
         APT::Sandbox::User \"root\";\n\
         #clear APT::Update::Post-Invoke-Success;\n\
         #clear APT::Update::Post-Invoke;\n"
    );
    let path = folder.join("apt.conf");
    fs::write(folder.join("debian.sources"), sources).context("write the sources of our own apt")?;
    fs::write(&path, configuration).context("write the configuration of our own apt")?;
    Ok(path)
}

fn has_lists(folder: &Path) -> bool {
    let entries = fs::read_dir(folder.join("lists")).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
}

/// `Inst NAME [OLD] (VERSION ORIGIN [ARCH])` as name=version.
fn installed(line: &str) -> Option<String> {
    let line = line.strip_prefix("Inst ")?;
    let name = line.split(' ').next()?;
    let version = line.split_once('(')?.1.split(' ').next()?;
    Some(format!("{name}={version}"))
}

/// Runs a command to its end; its standard output, or an error with what it said.
pub fn call(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("start {program}"))?;
    if !output.status.success() {
        bail!("{program}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::installed;

    #[test]
    fn lines_of_a_simulation() {
        let new = "Inst libfdt1 (1.6.1-4+b1 Debian:12.15/oldstable [amd64])";
        assert_eq!(installed(new).as_deref(), Some("libfdt1=1.6.1-4+b1"));
        let newer = "Inst seabios [1.16.2-1] (1.16.3-2~bpo12+1 Debian Backports [all]) []";
        assert_eq!(installed(newer).as_deref(), Some("seabios=1.16.3-2~bpo12+1"));
        assert_eq!(installed("Conf libfdt1 (1.6.1-4+b1 Debian:12.15/oldstable [amd64])"), None);
    }
}
