//! The program on one interface: a pinned link, the pinned program that it runs, and the pinned maps
//! that outlive revisions. Dropping an [`Attachment`] detaches nothing; only [`Attachment::remove`] does.
//!
//! Layout of an interface's folder, named by its index:
//! `link`, `program_REVISION_OBJECT`, `counters_vABI`, `rule_names_vABI`.

use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    time::Duration,
};

use aya::{
    maps::{Map, MapData, PerCpuArray},
    programs::ProgramInfo,
};
use sluice_ebpf_common::{ABI_VERSION, Counter, Counters};

use crate::{
    AttachMode, Error,
    bpffs::{PinFolder, file_names, open_pin, remove_file},
    instance::{Compiled, Instance, Pins, build_digest},
    marks,
    rule_slots::RuleSlots,
    sources, sys,
};

pub(crate) const LINK: &str = "link";
const PROGRAM_PREFIX: &str = "program_";
const SOURCES_PREFIX: &str = "sources_";

/// What an interface shall run.
#[derive(Clone, Copy)]
pub struct Revision<'a> {
    /// Names the content: equal digests are equal rules. Letters and digits only.
    pub digest: &'a str,
    /// The names under which it counts, each once.
    pub rules: &'a [String],
    /// The compiled rules, given the counter slot of each name.
    pub compiled: &'a dyn Fn(&[u16]) -> Result<Compiled, String>,
    /// How many sources may have a bucket of their own; 0 if no rule limits by source.
    pub sources: u32,
    /// Where the table of address sets is pinned; `None` if no rule reads one.
    pub live: Option<&'a Path>,
}

/// A program that is attached to an interface, or was until the interface went away.
#[derive(Debug)]
pub struct Attachment {
    folder: PathBuf,
    ifindex: u32,
    link: OwnedFd,
    /// Name of the program's pin; `None` if the link runs a program that is not pinned beside it.
    program: Option<String>,
    slots: RuleSlots,
}

/// How long the program ran and how often, while run statistics were on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStatistics {
    /// Sum over all runs.
    pub time: Duration,
    /// Runs.
    pub runs: u64,
}

impl Attachment {
    /// Takes over what is pinned for the interface: `None` if there is no link to take over, or it has
    /// lost its interface; what is left of it is then removed. An error leaves everything as it is.
    pub fn adopt(pins: &PinFolder, ifindex: u32) -> Result<Option<Self>, Error> {
        let folder = pins.interface(ifindex);
        let found = Self::read_back(&folder, ifindex)?;
        if found.is_none() {
            remove_folder(&folder, ifindex)?;
        }
        Ok(found)
    }

    fn read_back(folder: &Path, ifindex: u32) -> Result<Option<Self>, Error> {
        let Some(link) = open_pin(&folder.join(LINK))? else { return Ok(None) };
        let info = sys::link_info(link.as_fd()).map_err(in_link("BPF_OBJ_GET_INFO_BY_FD", ifindex))?;
        if info.ifindex != ifindex {
            return Ok(None);
        }
        let program = program_in_force(folder, info.program_id)?;
        let slots = RuleSlots::open(&folder.join(rule_names_name()), ifindex)?;
        let found = Self { folder: folder.to_path_buf(), ifindex, link, program, slots };
        found.remove_other_programs()?;
        Ok(Some(found))
    }

    /// Loads `revision` and attaches it in `mode`, or not at all.
    ///
    /// # Errors
    /// [`Error::AlreadyPinned`] where something is there to adopt, which is left alone.
    pub fn create(
        pins: &PinFolder,
        ifindex: u32,
        mode: AttachMode,
        revision: &Revision<'_>,
    ) -> Result<Self, Error> {
        let folder = pins.interface(ifindex);
        if folder.join(LINK).exists() {
            return Err(Error::AlreadyPinned { path: folder });
        }
        fs::create_dir_all(&folder).map_err(|source| Error::io("make", &folder, source))?;
        Self::create_in(&folder, ifindex, mode, revision).inspect_err(|_| {
            // The failure that is reported is the one that matters; what stays is removed at the next start.
            drop(remove_folder(&folder, ifindex));
        })
    }

    fn create_in(
        folder: &Path,
        ifindex: u32,
        mode: AttachMode,
        revision: &Revision<'_>,
    ) -> Result<Self, Error> {
        let mut slots = RuleSlots::open(&folder.join(rule_names_name()), ifindex)?;
        let loaded = load(folder, revision, &mut slots, &Counters::ZERO)?;
        let link = attach(folder, ifindex, mode, loaded.instance.fd()?.as_fd())?;
        Ok(Self { folder: folder.to_path_buf(), ifindex, link, program: Some(loaded.pin), slots })
    }

    /// Loads `revision` and swaps it in: every packet is judged by the old program or by the new one.
    ///
    /// # Errors
    /// Before the swap: the old program stays. [`Error::Leftover`]: the new one is in force.
    pub fn swap(&mut self, revision: &Revision<'_>) -> Result<(), Error> {
        if self.runs(revision) {
            return Ok(());
        }
        let counters = self.counters()?;
        let loaded = load(&self.folder, revision, &mut self.slots, &counters)?;
        let old = match &self.program {
            Some(pin) => open_pin(&self.folder.join(pin))?,
            None => None,
        };
        sys::link_update(self.link.as_fd(), loaded.instance.fd()?.as_fd(), old.as_ref().map(|fd| fd.as_fd()))
            .map_err(|source| Error::Swap { ifindex: self.ifindex, source })?;
        self.program = Some(loaded.pin);
        self.tidy(&loaded.recycled).map_err(|source| Error::Leftover { source: Box::new(source) })
    }

    /// Runs `revision` in the mode `to` instead of `from`. The kernel has one mode at a time, so for the
    /// time of two system calls nothing runs; everything is loaded before. Counters go on.
    ///
    /// # Errors
    /// [`Error::Attach`]: `to` was refused and the interface runs `revision` in `from` again.
    /// [`Error::Lost`]: `from` was refused as well, and nothing runs.
    pub fn change_mode(
        &mut self,
        from: AttachMode,
        to: AttachMode,
        revision: &Revision<'_>,
    ) -> Result<(), Error> {
        let counters = self.counters()?;
        let loaded = load(&self.folder, revision, &mut self.slots, &counters)?;
        let program = loaded.instance.fd()?.as_fd();
        sys::link_detach(self.link.as_fd()).map_err(in_link("BPF_LINK_DETACH", self.ifindex))?;
        remove_file(&self.folder.join(LINK))?;
        let refused = match attach(&self.folder, self.ifindex, to, program) {
            Ok(link) => {
                self.link = link;
                None
            }
            Err(refused) => {
                self.link = attach(&self.folder, self.ifindex, from, program)
                    .map_err(|source| Error::Lost { ifindex: self.ifindex, source: Box::new(source) })?;
                Some(refused)
            }
        };
        self.program = Some(loaded.pin);
        self.tidy(&loaded.recycled)?;
        refused.map_or(Ok(()), Err)
    }

    /// After another program has come into force: counts of slots that had another rule begin now, and
    /// the pin of the old program goes.
    fn tidy(&mut self, recycled: &[u16]) -> Result<(), Error> {
        if !recycled.is_empty() {
            let counters = self.counters()?;
            self.slots.rebase(recycled, &counters)?;
        }
        self.remove_other_programs()
    }

    /// Whether the program in force is the one that this build would load for `revision`.
    #[must_use]
    pub fn runs(&self, revision: &Revision<'_>) -> bool {
        self.program.as_deref() == Some(program_name(revision).as_str())
    }

    /// Digest of the revision in force, if it is known.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.program.as_deref()?.strip_prefix(PROGRAM_PREFIX)?.split('_').next()
    }

    /// The kernel's ids of the link and of the program that it runs.
    pub fn ids(&self) -> Result<LinkIds, Error> {
        let info =
            sys::link_info(self.link.as_fd()).map_err(in_link("BPF_OBJ_GET_INFO_BY_FD", self.ifindex))?;
        Ok(LinkIds { link: info.id, program: info.program_id, attached: info.ifindex == self.ifindex })
    }

    /// The interface's counters since the program was first attached.
    pub fn counters(&self) -> Result<Box<Counters>, Error> {
        let path = self.folder.join(counters_name());
        if !path.exists() {
            // The program in force was loaded by a build whose counters have another layout.
            return Ok(Box::new(Counters::ZERO));
        }
        let in_map = |source| Error::Map { ifindex: self.ifindex, source };
        let data = MapData::from_pin(path).map_err(in_map)?;
        let map = PerCpuArray::try_from(Map::PerCpuArray(data)).map_err(in_map)?;
        crate::counters::read(&map, self.ifindex)
    }

    /// Pins the link again where somebody has removed its pin: without one, it ends with this process.
    /// What else is gone comes back with the next swap, which is then due.
    pub fn pin_again(&mut self) -> Result<(), Error> {
        let path = self.folder.join(LINK);
        if !path.exists() {
            fs::create_dir_all(&self.folder).map_err(|source| Error::io("make", &self.folder, source))?;
            sys::object_pin(self.link.as_fd(), &path).map_err(|source| Error::io("pin", &path, source))?;
        }
        if self.program.as_ref().is_some_and(|pin| !self.folder.join(pin).exists()) {
            self.program = None;
            self.slots = RuleSlots::open(&self.folder.join(rule_names_name()), self.ifindex)?;
        }
        Ok(())
    }

    /// Whether the program in force counts where [`Self::counters`] reads: one that a build with another
    /// layout loaded does not.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.folder.join(counters_name()).exists()
    }

    /// What each rule has counted, by policy/rule; rules that are no longer in force included.
    pub fn rule_counters(&self, counters: &Counters) -> Result<BTreeMap<String, Counter>, Error> {
        self.slots.counted(counters)
    }

    /// Sources that were forgotten to make room for others, of at most `most`; `None` if there is no table of them.
    pub fn sources_evicted(&self, most: u32) -> Result<Option<u64>, Error> {
        let (buckets, sources) = (self.folder.join(buckets_name()), self.folder.join(sources_name(most)));
        if !buckets.exists() || !sources.exists() {
            return Ok(None);
        }
        sources::evicted(&buckets, &sources, self.ifindex).map(Some)
    }

    /// Run time and count; they move only while the kernel's run statistics are on.
    pub fn run_statistics(&self) -> Result<RunStatistics, Error> {
        let Some(program) = &self.program else { return Ok(RunStatistics::default()) };
        let info = ProgramInfo::from_pin(self.folder.join(program))?;
        Ok(RunStatistics { time: info.run_time(), runs: info.run_count() })
    }

    /// Takes the program off the interface and removes every pin. After an error it may be called again.
    pub fn remove(&self) -> Result<(), Error> {
        remove_folder(&self.folder, self.ifindex)
    }

    /// Programs other than the one in force: of an earlier revision, or of a swap that a crash cut short.
    fn remove_other_programs(&self) -> Result<(), Error> {
        let program = self.program.clone().unwrap_or_default();
        let maps = [counters_name(), rule_names_name(), buckets_name()];
        let keep = [&[LINK.to_owned(), program], maps.as_slice()].concat();
        let names = file_names(&self.folder).map_err(|source| Error::io("list", &self.folder, source))?;
        names
            .iter()
            .filter(|name| !keep.contains(name))
            .filter(|name| !name.starts_with(SOURCES_PREFIX) && !name.starts_with(marks::PREFIX))
            .try_for_each(|name| remove_file(&self.folder.join(name)))
    }
}

/// The kernel's ids of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkIds {
    /// The `bpf_link`.
    pub link: u32,
    /// The program that it runs.
    pub program: u32,
    /// Whether the link still has its interface.
    pub attached: bool,
}

/// Detaches what is pinned in an interface's folder and removes the folder.
pub(crate) fn remove_folder(folder: &Path, ifindex: u32) -> Result<(), Error> {
    if !folder.exists() {
        return Ok(());
    }
    let path = folder.join(LINK);
    if let Some(link) = open_pin(&path)? {
        let gone = sys::link_info(link.as_fd()).is_ok_and(|info| info.ifindex == 0);
        if !gone {
            sys::link_detach(link.as_fd()).map_err(in_link("BPF_LINK_DETACH", ifindex))?;
        }
    }
    let names = file_names(folder).map_err(|source| Error::io("list", folder, source))?;
    for name in names.iter().filter(|name| !name.starts_with(marks::PREFIX)) {
        remove_file(&folder.join(name))?;
    }
    // What applies marks goes after what writes them; the empty folder goes with it.
    marks::remove_from(folder, ifindex)
}

/// A program that is loaded and pinned, but not in force yet.
struct Loaded {
    instance: Instance,
    /// Name of the program's pin: a later start tells by it which revision is in force.
    pin: String,
    /// Slots that another rule counted in until now.
    recycled: Vec<u16>,
}

fn load(
    folder: &Path,
    revision: &Revision<'_>,
    slots: &mut RuleSlots,
    counters: &Counters,
) -> Result<Loaded, Error> {
    let assigned = slots.assign(revision.rules, counters)?;
    let compiled = (revision.compiled)(&assigned.slots).map_err(Error::Compile)?;
    let (counters_path, buckets_path) = (folder.join(counters_name()), folder.join(buckets_name()));
    let sources_path = folder.join(sources_name(revision.sources));
    let pins = Pins {
        counters: &counters_path,
        buckets: &buckets_path,
        sources: (revision.sources > 0).then_some((sources_path.as_path(), revision.sources)),
        live: revision.live,
    };
    let instance = Instance::load(&compiled.content(), &pins)?;
    let pin = program_name(revision);
    let path = folder.join(&pin);
    remove_file(&path)?;
    instance.pin(&path)?;
    Ok(Loaded { instance, pin, recycled: assigned.recycled })
}

/// Creates the link and pins it.
fn attach(folder: &Path, ifindex: u32, mode: AttachMode, program: BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    let link = sys::link_create(program, ifindex, mode.flags())
        .map_err(|source| Error::Attach { ifindex, source })?;
    let path = folder.join(LINK);
    sys::object_pin(link.as_fd(), &path).map_err(|source| Error::io("pin", &path, source))?;
    Ok(link)
}

fn program_in_force(folder: &Path, program_id: u32) -> Result<Option<String>, Error> {
    let names = file_names(folder).map_err(|source| Error::io("list", folder, source))?;
    for name in names.into_iter().filter(|name| name.starts_with(PROGRAM_PREFIX)) {
        if ProgramInfo::from_pin(folder.join(&name))?.id() == program_id {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Names the rules, by the digest that status shows, and the build: programs of another one are replaced.
fn program_name(revision: &Revision<'_>) -> String {
    let mut hasher = DefaultHasher::new();
    (build_digest(), revision.rules, revision.sources, revision.live).hash(&mut hasher);
    if revision.live.is_some() {
        // Which bits the lists of address sets have is not in the digest.
        match (revision.compiled)(&vec![0; revision.rules.len()]) {
            Ok(compiled) => (&compiled.tables, &compiled.prefixes).hash(&mut hasher),
            Err(message) => message.hash(&mut hasher),
        }
    }
    format!("{PROGRAM_PREFIX}{}_{:016x}", revision.digest, hasher.finish())
}

fn buckets_name() -> String {
    format!("buckets_v{ABI_VERSION}")
}

fn sources_name(entries: u32) -> String {
    format!("{SOURCES_PREFIX}v{ABI_VERSION}_{entries}")
}

fn counters_name() -> String {
    format!("counters_v{ABI_VERSION}")
}

fn rule_names_name() -> String {
    format!("rule_names_v{ABI_VERSION}")
}

fn in_link(command: &'static str, ifindex: u32) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Link { command, ifindex, source }
}
