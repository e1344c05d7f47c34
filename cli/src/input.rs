//! Reading a file or standard input: never more than a limit, and never waiting for anybody at the other end
//! of a pipe that has a name.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;

/// What messages call standard input.
pub const STANDARD_INPUT: &str = "standard input";

/// The first `limit` bytes of a file; of standard input if it is `-`.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    if path.as_os_str() == "-" { contents(io::stdin().lock(), limit) } else { contents(open(path)?, limit) }
}

fn contents(from: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file. It looks before it opens: opening some devices does something.
fn open(path: &Path) -> io::Result<File> {
    refuse_other_kinds(&fs::metadata(path)?)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    refuse_other_kinds(&file.metadata()?)?;
    Ok(file)
}

fn refuse_other_kinds(found: &Metadata) -> io::Result<()> {
    match found.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(io::Error::other("it is a directory, not a regular file")),
        _ => Err(io::Error::other(
            "it is a pipe, a socket or a device, not a regular file (standard input is read as -)",
        )),
    }
}
