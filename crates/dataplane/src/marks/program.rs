//! The TC program as it is loaded and pinned. All interfaces run the same; each has a load of its own.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::fd::{AsFd as _, BorrowedFd},
    path::Path,
    sync::LazyLock,
};

use aya::{
    Ebpf,
    programs::{ProgramInfo, SchedClassifier},
};

use super::names;
use crate::{Error, bpffs::remove_file, sys};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/sluice-tc"));
const PROGRAM: &str = "sluice_tc";
const PIN_PREFIX: &str = "tc_program_";

/// The loaded program. It is gone with this value unless something pins or runs it.
pub(super) struct Program(Ebpf);

impl Program {
    pub(super) fn load() -> Result<Self, Error> {
        let mut ebpf = Ebpf::load(OBJECT)?;
        let program = ebpf.program_mut(PROGRAM).ok_or(Error::NoProgram(PROGRAM))?;
        let program: &mut SchedClassifier = program.try_into()?;
        program.load()?;
        Ok(Self(ebpf))
    }

    pub(super) fn fd(&self) -> Result<BorrowedFd<'_>, Error> {
        let program = self.0.program(PROGRAM).ok_or(Error::NoProgram(PROGRAM))?;
        let program: &SchedClassifier = program.try_into()?;
        Ok(program.fd()?.as_fd())
    }

    /// Pins the program under this build's name, in the place of one that is there.
    pub(super) fn pin_in(&self, folder: &Path) -> Result<(), Error> {
        self.pin(&folder.join(pin_name()))
    }

    pub(super) fn pin(&self, path: &Path) -> Result<(), Error> {
        remove_file(path)?;
        sys::object_pin(self.fd()?, path).map_err(|source| Error::io("pin", path, source))
    }
}

/// Another build's program has another name, and is replaced.
pub(super) fn pin_name() -> String {
    static DIGEST: LazyLock<u64> = LazyLock::new(|| {
        let mut hasher = DefaultHasher::new();
        OBJECT.hash(&mut hasher);
        hasher.finish()
    });
    format!("{PIN_PREFIX}{:016x}", *DIGEST)
}

/// Ids of the programs that are pinned in `folder`, of whatever build.
pub(super) fn pinned_programs(folder: &Path) -> Result<Vec<u32>, Error> {
    let programs = names(folder)?.into_iter().filter(|name| name.starts_with(PIN_PREFIX));
    programs.map(|name| Ok(ProgramInfo::from_pin(folder.join(name))?.id())).collect()
}

/// Unpins the programs of other builds.
pub(super) fn remove_others(folder: &Path) -> Result<(), Error> {
    let ours = pin_name();
    names(folder)?
        .iter()
        .filter(|name| name.starts_with(PIN_PREFIX) && **name != ours)
        .try_for_each(|name| remove_file(&folder.join(name)))
}
