//! Loads instances of the XDP program: one for each revision of an interface.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::fd::AsFd as _,
    path::Path,
    sync::LazyLock,
};

use aya::{
    Ebpf, EbpfLoader,
    programs::{ProgramFd, TestRun as _, TestRunOptions, Xdp},
};
use sluice_ebpf_common::Tables;

use crate::{Error, sys};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/sluice"));
const PROGRAM: &str = "sluice";
const COUNTERS: &str = "COUNTERS";

/// A loaded program that is not attached yet. It is gone with this value unless something pins it.
#[derive(Debug)]
pub struct Instance {
    ebpf: Ebpf,
}

/// What a run of the program on a frame gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The XDP action, as the kernel numbers them.
    pub action: u32,
    /// Nanoseconds a run, the mean over the repeats.
    pub nanoseconds: u32,
}

impl Instance {
    /// Loads the program with `tables`; its counters are the map pinned at `counters`, which the
    /// loader makes and pins if it is absent.
    pub fn load(tables: &Tables, counters: &Path) -> Result<Self, Error> {
        Self::load_with(EbpfLoader::new().map_pin_path(COUNTERS, counters), tables)
    }

    /// Loads the program with counters of its own, for runs without an interface.
    pub fn load_unpinned(tables: &Tables) -> Result<Self, Error> {
        Self::load_with(&mut EbpfLoader::new(), tables)
    }

    fn load_with<'a>(loader: &mut EbpfLoader<'a>, tables: &'a Tables) -> Result<Self, Error> {
        let ebpf = loader.override_global("TABLES", tables, true).load(OBJECT)?;
        let mut instance = Self { ebpf };
        instance.program_mut()?.load()?;
        Ok(instance)
    }

    /// The kernel's id of the program.
    pub fn id(&self) -> Result<u32, Error> {
        Ok(self.program()?.info()?.id())
    }

    /// Runs the program on `frame` in the kernel, attached to nothing (`BPF_PROG_TEST_RUN`).
    pub fn run(&self, frame: &[u8], repeat: u32) -> Result<Run, Error> {
        let options = TestRunOptions { data_in: Some(frame), repeat, ..TestRunOptions::new() };
        let result = self.program()?.test_run(options)?;
        let nanoseconds = u32::try_from(result.duration.as_nanos()).unwrap_or(u32::MAX);
        Ok(Run { action: result.return_value, nanoseconds })
    }

    /// The counters of an instance that was loaded unpinned, summed over CPUs.
    pub fn counters(&self) -> Result<Box<sluice_ebpf_common::Counters>, Error> {
        let map = self.ebpf.map(COUNTERS).ok_or(Error::NoProgram(COUNTERS))?;
        let map =
            aya::maps::PerCpuArray::try_from(map).map_err(|source| Error::Map { ifindex: 0, source })?;
        crate::counters::read(&map, 0)
    }

    /// Pins the program at `path`, in a BPF file system.
    pub fn pin(&self, path: &Path) -> Result<(), Error> {
        sys::object_pin(self.fd()?.as_fd(), path).map_err(|source| Error::io("pin", path, source))
    }

    pub(crate) fn fd(&self) -> Result<&ProgramFd, Error> {
        Ok(self.program()?.fd()?)
    }

    fn program(&self) -> Result<&Xdp, Error> {
        let program = self.ebpf.program(PROGRAM).ok_or(Error::NoProgram(PROGRAM))?;
        Ok(program.try_into()?)
    }

    fn program_mut(&mut self) -> Result<&mut Xdp, Error> {
        let program = self.ebpf.program_mut(PROGRAM).ok_or(Error::NoProgram(PROGRAM))?;
        Ok(program.try_into()?)
    }
}

/// A name for the built-in object: programs that another build of the agent loaded have another one,
/// and are replaced.
pub(crate) fn object_digest() -> u64 {
    static DIGEST: LazyLock<u64> = LazyLock::new(|| {
        let mut hasher = DefaultHasher::new();
        OBJECT.hash(&mut hasher);
        hasher.finish()
    });
    *DIGEST
}
