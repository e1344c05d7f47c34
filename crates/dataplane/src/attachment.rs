//! The program on one interface: a pinned link, the pinned program that it runs, and the pinned maps
//! that outlive revisions. Dropping an [`Attachment`] detaches nothing; only [`Attachment::remove`] does.
//!
//! Layout of an interface's folder, named by its index:
//! `link`, `program_REVISION_OBJECT`, `counters_vABI`, `rule_names_vABI`.

use std::{
    collections::BTreeMap,
    fs,
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
    time::Duration,
};

use aya::{
    maps::{Map, MapData, PerCpuArray},
    programs::ProgramInfo,
};
use sluice_ebpf_common::{ABI_VERSION, Counter, Counters, Tables};

use crate::{
    AttachMode, Error,
    bpffs::{PinFolder, file_names, remove_file},
    instance::{Instance, object_digest},
    rule_slots::RuleSlots,
    sys,
};

const LINK: &str = "link";
const PROGRAM_PREFIX: &str = "program_";

/// What an interface shall run.
#[derive(Clone, Copy)]
pub struct Revision<'a> {
    /// Names the content: equal digests are equal rules. Letters and digits only.
    pub digest: &'a str,
    /// Each rule as policy/rule, in order.
    pub rules: &'a [String],
    /// The compiled rules, given the counter slot of each.
    pub tables: &'a dyn Fn(&[u16]) -> Box<Tables>,
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
    /// lost its interface; what is left of it is then removed.
    pub fn adopt(pins: &PinFolder, ifindex: u32) -> Result<Option<Self>, Error> {
        let folder = pins.interface(ifindex);
        let found = Self::read_back(&folder, ifindex)?;
        if found.is_none() {
            remove_folder(&folder, ifindex)?;
        }
        Ok(found)
    }

    fn read_back(folder: &Path, ifindex: u32) -> Result<Option<Self>, Error> {
        let Ok(link) = sys::object_get(&folder.join(LINK)) else { return Ok(None) };
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
    pub fn create(
        pins: &PinFolder,
        ifindex: u32,
        mode: AttachMode,
        revision: &Revision<'_>,
    ) -> Result<Self, Error> {
        let folder = pins.interface(ifindex);
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
        let (instance, program) = load(folder, revision, &mut slots, &Counters::ZERO)?;
        let link = sys::link_create(instance.fd()?.as_fd(), ifindex, mode.flags())
            .map_err(|source| Error::Attach { ifindex, source })?;
        let path = folder.join(LINK);
        sys::object_pin(link.as_fd(), &path).map_err(|source| Error::io("pin", &path, source))?;
        Ok(Self { folder: folder.to_path_buf(), ifindex, link, program: Some(program), slots })
    }

    /// Loads `revision` and swaps it in: every packet is judged by the old program or by the new one.
    pub fn swap(&mut self, revision: &Revision<'_>) -> Result<(), Error> {
        if self.runs(revision.digest) {
            return Ok(());
        }
        let counters = self.counters()?;
        let (instance, program) = load(&self.folder, revision, &mut self.slots, &counters)?;
        let old = self.program.as_ref().and_then(|name| sys::object_get(&self.folder.join(name)).ok());
        sys::link_update(self.link.as_fd(), instance.fd()?.as_fd(), old.as_ref().map(|fd| fd.as_fd()))
            .map_err(|source| Error::Swap { ifindex: self.ifindex, source })?;
        self.program = Some(program);
        self.remove_other_programs()
    }

    /// Whether the program in force is the one that this build would load for `digest`.
    #[must_use]
    pub fn runs(&self, digest: &str) -> bool {
        self.program.as_deref() == Some(program_name(digest).as_str())
    }

    /// Digest of the revision in force, if it is known.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.program.as_deref()?.strip_prefix(PROGRAM_PREFIX)?.split('_').next()
    }

    /// Index of the interface.
    #[must_use]
    pub fn ifindex(&self) -> u32 {
        self.ifindex
    }

    /// The kernel's ids of the link and of the program that it runs. An error or another interface
    /// than [`Self::ifindex`] means that the device is gone.
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

    /// What each rule has counted, by policy/rule; rules that are no longer in force included.
    pub fn rule_counters(&self, counters: &Counters) -> Result<BTreeMap<String, Counter>, Error> {
        self.slots.counted(counters)
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
        let keep = [LINK.to_owned(), program, counters_name(), rule_names_name()];
        let names = file_names(&self.folder).map_err(|source| Error::io("list", &self.folder, source))?;
        names
            .iter()
            .filter(|name| !keep.contains(name))
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
    if let Ok(link) = sys::object_get(&path) {
        let gone = sys::link_info(link.as_fd()).is_ok_and(|info| info.ifindex == 0);
        if !gone {
            sys::link_detach(link.as_fd()).map_err(in_link("BPF_LINK_DETACH", ifindex))?;
        }
    }
    for name in file_names(folder).map_err(|source| Error::io("list", folder, source))? {
        remove_file(&folder.join(name))?;
    }
    fs::remove_dir(folder).map_err(|source| Error::io("remove", folder, source))
}

/// Loads `revision` and pins its program, so that a later start can tell which revision is in force.
fn load(
    folder: &Path,
    revision: &Revision<'_>,
    slots: &mut RuleSlots,
    counters: &Counters,
) -> Result<(Instance, String), Error> {
    let tables = (revision.tables)(&slots.assign(revision.rules, counters)?);
    let instance = Instance::load(&tables, &folder.join(counters_name()))?;
    let name = program_name(revision.digest);
    let path = folder.join(&name);
    remove_file(&path)?;
    instance.pin(&path)?;
    Ok((instance, name))
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

fn program_name(digest: &str) -> String {
    format!("{PROGRAM_PREFIX}{digest}_{:016x}", object_digest())
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
