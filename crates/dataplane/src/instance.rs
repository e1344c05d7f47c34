//! Loads instances of the XDP program: one for each revision of an interface.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::fd::AsFd as _,
    path::Path,
    sync::LazyLock,
};

use aya::{
    Ebpf, EbpfLoader, Pod,
    maps::{Array, HashMap, PerCpuArray},
    programs::{ProgramFd, TestRun as _, TestRunOptions, Xdp},
};
use sluice_ebpf_common::{Counters, SOURCES_CREATED, SourceKey, Tables, prefixes::PAGE};

use crate::{Error, sys};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/sluice"));
const PROGRAM: &str = "sluice";
const COUNTERS: &str = "COUNTERS";
const FIXED: &str = "FIXED";
const LIVE: &str = "LIVE";
const BUCKETS: &str = "BUCKETS";
const SOURCES: &str = "SOURCES";

/// What an instance decides by: the compiled rules and the address table of the prefixes that they list.
#[derive(Clone, Copy)]
pub struct Content<'a> {
    /// The rules.
    pub tables: &'a Tables,
    /// Whole pages of a `fixed` address table; empty if no rule lists prefixes.
    pub prefixes: &'a [u8],
}

/// A [`Content`] that owns what it names.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The rules.
    pub tables: Box<Tables>,
    /// The prefixes that they list.
    pub prefixes: Vec<u8>,
}

impl Compiled {
    /// What an instance is loaded with.
    #[must_use]
    pub fn content(&self) -> Content<'_> {
        Content { tables: &self.tables, prefixes: &self.prefixes }
    }
}

/// The maps that outlive an instance, by the paths where they are pinned. The loader makes and pins what is absent.
#[derive(Clone, Copy, Debug)]
pub struct Pins<'a> {
    /// Counters of the interface.
    pub counters: &'a Path,
    /// Buckets of its rate limits.
    pub buckets: &'a Path,
    /// Buckets of sources, and how many there may be; `None` if no rule limits by source.
    pub sources: Option<(&'a Path, u32)>,
    /// The table of address sets; `None` if no rule reads one.
    pub live: Option<&'a Path>,
}

/// Bench only: which bits of addresses and ports the program changes from run to run.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Varied {
    /// Of the source address, in network order; IPv4 takes the first element.
    pub source: [u32; 4],
    /// Of the destination address.
    pub destination: [u32; 4],
    /// Of the source port.
    pub source_port: u16,
    /// Of the destination port.
    pub destination_port: u16,
    /// 1 if anything varies.
    pub varies: u32,
}

// SAFETY: repr(C), only integers, no padding: 40 bytes.
unsafe impl Pod for Varied {}
const _: () = assert!(size_of::<Varied>() == 40);

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

/// What a run of the program has made of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The XDP action, as the kernel numbers them.
    pub action: u32,
    /// What it has put in front of the packet.
    pub metadata: Vec<u8>,
    /// The packet, which it does not change.
    pub packet: Vec<u8>,
}

/// The buckets of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// Made so far. Those that are no longer held were recycled.
    pub created: u64,
    /// Held now.
    pub held: u64,
}

/// Bytes of `struct xdp_md`.
const XDP_CONTEXT: usize = 24;
/// More than the kernel lets a program put in front of a packet.
const LARGEST_METADATA: usize = 256;

impl Instance {
    /// Loads the program; what it shares with other instances is pinned at `pins`.
    pub fn load(content: &Content<'_>, pins: &Pins<'_>) -> Result<Self, Error> {
        let mut loader = EbpfLoader::new();
        loader.map_pin_path(COUNTERS, pins.counters).map_pin_path(BUCKETS, pins.buckets);
        if let Some((path, entries)) = pins.sources {
            loader.map_pin_path(SOURCES, path).map_max_entries(SOURCES, entries);
        }
        if let Some(path) = pins.live {
            loader.map_pin_path(LIVE, path).map_max_entries(LIVE, live_pages(path)?);
        }
        Self::load_with(&mut loader, content, &Varied::default())
    }

    /// Loads the program with counters and buckets of its own, for runs without an interface. `sources` is how many
    /// sources may have a bucket, `live` where a table of address sets is pinned.
    pub fn load_unpinned(
        content: &Content<'_>,
        sources: u32,
        live: Option<&Path>,
        varied: &Varied,
    ) -> Result<Self, Error> {
        let mut loader = EbpfLoader::new();
        loader.map_max_entries(SOURCES, sources.max(1));
        if let Some(path) = live {
            loader.map_pin_path(LIVE, path).map_max_entries(LIVE, live_pages(path)?);
        }
        Self::load_with(&mut loader, content, varied)
    }

    fn load_with<'a>(
        loader: &mut EbpfLoader<'a>,
        content: &Content<'a>,
        varied: &'a Varied,
    ) -> Result<Self, Error> {
        let pages = content.prefixes.len() / PAGE;
        let ebpf = loader
            .override_global("TABLES", content.tables, true)
            .override_global("VARIED", varied, true)
            .map_max_entries(FIXED, u32::try_from(pages).unwrap_or(u32::MAX).max(1))
            .load(OBJECT)?;
        let mut instance = Self { ebpf };
        instance.fill_prefixes(content.prefixes)?;
        instance.program_mut()?.load()?;
        Ok(instance)
    }

    fn fill_prefixes(&mut self, prefixes: &[u8]) -> Result<(), Error> {
        let map = self.ebpf.map_mut(FIXED).ok_or(Error::NoProgram(FIXED))?;
        let in_map = |source| Error::Map { ifindex: 0, source };
        let mut map = Array::<_, Page>::try_from(map).map_err(in_map)?;
        for (number, page) in (0..).zip(prefixes.as_chunks::<PAGE>().0) {
            map.set(number, &Page(*page), 0).map_err(in_map)?;
        }
        Ok(())
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

    /// Runs the program on `frame` once, and gives what it made of it.
    pub fn run_once(&self, frame: &[u8]) -> Result<Output, Error> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        // `struct xdp_md`: data, data_end, data_meta and three that concern devices.
        let (mut context_in, mut context) = ([0; XDP_CONTEXT], [0; XDP_CONTEXT]);
        context_in[4..8].copy_from_slice(&length.to_ne_bytes());
        let mut bytes = vec![0; frame.len() + LARGEST_METADATA];
        let result = self.program()?.test_run(TestRunOptions {
            data_in: Some(frame),
            data_out: Some(&mut bytes),
            ctx_in: Some(&context_in),
            ctx_out: Some(&mut context),
            ..TestRunOptions::new()
        })?;
        bytes.truncate(usize::try_from(result.data_size_out).unwrap_or(usize::MAX));
        // With metadata the data begins behind it, and it is the first that comes back.
        let [a, b, c, d, ..] = context;
        let metadata = usize::try_from(u32::from_ne_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let packet = bytes.split_off(metadata.min(bytes.len()));
        Ok(Output { action: result.return_value, metadata: bytes, packet })
    }

    /// The table of sources of an instance that was loaded unpinned.
    pub fn sources(&self) -> Result<Sources, Error> {
        let in_map = |source| Error::Map { ifindex: 0, source };
        let map = self.ebpf.map(SOURCES).ok_or(Error::NoProgram(SOURCES))?;
        let sources = HashMap::<_, SourceKey, u64>::try_from(map).map_err(in_map)?;
        let map = self.ebpf.map(BUCKETS).ok_or(Error::NoProgram(BUCKETS))?;
        let buckets = Array::<_, u64>::try_from(map).map_err(in_map)?;
        let created = u32::try_from(SOURCES_CREATED).unwrap_or(u32::MAX);
        let created = buckets.get(&created, 0).map_err(in_map)?;
        Ok(Sources { created, held: sources.keys().flatten().count() as u64 })
    }

    /// The counters of an instance that was loaded unpinned, summed over CPUs.
    pub fn counters(&self) -> Result<Box<Counters>, Error> {
        let map = self.ebpf.map(COUNTERS).ok_or(Error::NoProgram(COUNTERS))?;
        let map = PerCpuArray::try_from(map).map_err(|source| Error::Map { ifindex: 0, source })?;
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

/// A page of an address table as the element of a map.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Page([u8; PAGE]);

// SAFETY: bytes only.
unsafe impl Pod for Page {}

/// Pages of the table of address sets that is pinned at `path`.
fn live_pages(path: &Path) -> Result<u32, Error> {
    let info = aya::maps::MapInfo::from_pin(path).map_err(|source| Error::Map { ifindex: 0, source })?;
    Ok(info.max_entries())
}

/// A name for this build, of which the object and the compiler of rules are parts: programs that another build of the
/// agent loaded have another one, and are replaced.
pub(crate) fn build_digest() -> u64 {
    static DIGEST: LazyLock<u64> = LazyLock::new(|| {
        let mut hasher = DefaultHasher::new();
        OBJECT.hash(&mut hasher);
        let executable = std::env::current_exe().and_then(std::fs::metadata);
        let of_file = executable.map(|file| (file.len(), file.modified().ok()));
        of_file.ok().hash(&mut hasher);
        hasher.finish()
    });
    *DIGEST
}
