//! The guest's whole file system: busybox, modules, the programs with the libraries that they are linked
//! with, and the script that runs them. Written without mounting anything and without root.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use cpio::newc::{Builder, ModeFileType, trailer};
use sluice_testkit::feature::find_program;

use super::archive::call;
use super::programs::Program;

const INIT: &str = include_str!("init.sh");
/// The script reads the modules and their order from here.
const MODULES: &str = "modules/order";
/// What the tests call. Busybox has none that does.
const CALLED: [&str; 3] = ["ip", "ethtool", "nsenter"];
const MOUNT_POINTS: [&str; 5] = ["proc", "sys", "dev", "run", "tmp"];

/// Writes the archive into `folder` and returns its path.
pub fn build(folder: &Path, busybox: &Path, modules: &[PathBuf], programs: &[Program]) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let mut files = BTreeMap::from([
        ("init".to_owned(), INIT.as_bytes().to_vec()),
        ("bin/busybox".to_owned(), read(busybox)?),
    ]);
    let mut order = String::new();
    for module in modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        order += &name;
        order += "\n";
        files.insert(format!("modules/{name}"), read(module)?);
    }
    files.insert(MODULES.to_owned(), order.into_bytes());
    for program in programs {
        add(&mut files, &format!("checks/{}", program.name), &program.file)?;
    }
    for name in CALLED {
        let path = find_program(name).with_context(|| format!("{name} is missing; run `./setup.sh test`"))?;
        add(&mut files, &format!("usr/sbin/{name}"), &path)?;
    }
    let path = folder.join("initramfs");
    write(&path, &files).with_context(|| format!("write {}", path.display()))?;
    Ok(path)
}

/// A program under its name, and the libraries where it looks for them.
fn add(files: &mut BTreeMap<String, Vec<u8>>, name: &str, program: &Path) -> Result<()> {
    files.insert(name.to_owned(), read(program)?);
    let linked = call(Command::new("ldd").arg(program))?;
    for library in linked.split_ascii_whitespace().filter(|word| word.starts_with('/')) {
        let inside = library.trim_start_matches('/').to_owned();
        if let Entry::Vacant(place) = files.entry(inside) {
            place.insert(read(Path::new(library))?);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("read {}", path.display()))
}

fn write(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for (inode, folder) in (1..).zip(folders(files)) {
        let entry = Builder::new(&folder).ino(inode).mode(0o755).set_mode_file_type(ModeFileType::Directory);
        out = entry.write(out, 0).finish()?;
    }
    for (inode, (name, bytes)) in (10_000..).zip(files) {
        let size = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        let entry = Builder::new(name).ino(inode).mode(0o755).set_mode_file_type(ModeFileType::Regular);
        let mut file = entry.write(out, size);
        file.write_all(bytes)?;
        out = file.finish()?;
    }
    trailer(out)?.flush()
}

/// Every folder above a file, and those that only mounts fill; parents first.
fn folders(files: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let above = files.keys().flat_map(|name| Path::new(name).ancestors().skip(1));
    let above = above.map(|folder| folder.display().to_string()).filter(|folder| !folder.is_empty());
    above.chain(MOUNT_POINTS.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{folders, write};

    #[test]
    fn parents_come_before_their_children() {
        let files = BTreeMap::from([("lib/x/y.so".to_owned(), vec![]), ("init".to_owned(), vec![])]);
        let found: Vec<String> = folders(&files).into_iter().collect();
        assert_eq!(found, ["dev", "lib", "lib/x", "proc", "run", "sys", "tmp"]);
    }

    #[test]
    fn the_archive_can_be_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("initramfs");
        write(&path, &BTreeMap::from([("bin/a".to_owned(), b"hello".to_vec())])).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mut reader = cpio::newc::Reader::new(&bytes[..]).unwrap();
        let mut seen = vec![];
        while !reader.entry().is_trailer() {
            let entry = reader.entry();
            seen.push((entry.name().to_owned(), entry.mode(), entry.file_size()));
            reader = cpio::newc::Reader::new(reader.finish().unwrap()).unwrap();
        }
        assert!(seen.contains(&("bin".to_owned(), 0o040_755, 0)));
        assert!(seen.contains(&("bin/a".to_owned(), 0o100_755, 5)));
    }
}
