//! The TC program that applies marks, at ingress of one interface. It is attached before an XDP program
//! that marks comes into force, and taken off after it. Dropping [`Marks`] detaches nothing.
//!
//! In the interface's folder: `tc_program_OBJECT`; under tcx `tc_link`; under clsact `tc_qdisc` (another
//! pin of the program) if the qdisc is ours. Filters, qdiscs and programs of others are never touched.

mod clsact;
mod program;
mod traffic_control;

use std::{
    fs, io,
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use crate::{
    Error,
    bpffs::{PinFolder, file_names, open_pin, remove_file},
    sys,
};
use program::{Program, pinned_programs};

/// What every pin of ours begins with; other pins of the folder are the XDP attachment's.
pub(crate) const PREFIX: &str = "tc_";
const LINK: &str = "tc_link";

/// How the TC program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkHook {
    /// A tcx link (Linux 6.6), before all other programs that are there.
    Tcx,
    /// A bpf filter on the clsact (or ingress) qdisc.
    Clsact,
}

/// The attached TC program of an interface.
#[derive(Debug)]
pub struct Marks {
    folder: PathBuf,
    ifindex: u32,
    /// Under tcx. Under clsact the kernel has nothing that could be held.
    link: Option<OwnedFd>,
}

impl Marks {
    /// Attaches this build's program, or takes over what is attached: by tcx, or by clsact where the kernel
    /// has no tcx. In the network namespace of the calling thread.
    ///
    /// # Errors
    /// [`Error::MarkLink`], [`Error::MarkFilter`]: the kernel refused, and nothing new is attached.
    pub fn ensure(pins: &PinFolder, ifindex: u32) -> Result<Self, Error> {
        match Self::ensure_by(MarkHook::Tcx, pins, ifindex) {
            Err(Error::MarkLink { source, .. }) if has_no_tcx(&source) => {
                Self::ensure_by(MarkHook::Clsact, pins, ifindex)
            }
            result => result,
        }
    }

    /// As [`Self::ensure`], by this hook or not at all. What is attached already stays where it is.
    pub fn ensure_by(hook: MarkHook, pins: &PinFolder, ifindex: u32) -> Result<Self, Error> {
        let folder = pins.interface(ifindex);
        if let Some(found) = Self::read_back(&folder, ifindex)? {
            found.renew()?;
            return Ok(found);
        }
        fs::create_dir_all(&folder).map_err(|source| Error::io("make", &folder, source))?;
        Self::create(hook, &folder, ifindex).inspect_err(|_| {
            // The refusal is what matters; what stays is removed at the next start.
            drop(remove_from(&folder, ifindex));
        })
    }

    fn create(hook: MarkHook, folder: &Path, ifindex: u32) -> Result<Self, Error> {
        let program = Program::load()?;
        program.pin_in(folder)?;
        let link = match hook {
            MarkHook::Tcx => Some(attach_link(folder, ifindex, &program)?),
            MarkHook::Clsact => {
                clsact::attach(folder, ifindex, &program)?;
                None
            }
        };
        Ok(Self { folder: folder.to_path_buf(), ifindex, link })
    }

    /// Takes over what is attached: `None` if nothing is. What a crash or a lost device has left is then
    /// removed. An error leaves everything as it is.
    pub fn adopt(pins: &PinFolder, ifindex: u32) -> Result<Option<Self>, Error> {
        let folder = pins.interface(ifindex);
        let found = Self::read_back(&folder, ifindex)?;
        if found.is_none() {
            remove_from(&folder, ifindex)?;
        }
        Ok(found)
    }

    fn read_back(folder: &Path, ifindex: u32) -> Result<Option<Self>, Error> {
        let link = open_pin(&folder.join(LINK))?;
        let attached = match &link {
            Some(link) => link_info(link, ifindex)?.ifindex == ifindex,
            None => clsact::is_attached(folder, ifindex)?,
        };
        Ok(attached.then(|| Self { folder: folder.to_path_buf(), ifindex, link }))
    }

    /// Puts this build's program in the place of another build's. No packet is left out.
    fn renew(&self) -> Result<(), Error> {
        if self.folder.join(program::pin_name()).exists() && self.runs_only_pinned_program()? {
            return Ok(());
        }
        let program = Program::load()?;
        program.pin_in(&self.folder)?;
        match &self.link {
            Some(link) => sys::link_update(link.as_fd(), program.fd()?, None).map_err(|source| {
                Error::MarkLink { command: "BPF_LINK_UPDATE", ifindex: self.ifindex, source }
            })?,
            None => clsact::replace(self.ifindex, &program)?,
        }
        program::remove_others(&self.folder)
    }

    /// Whether one program is pinned and in force: after a renewal that was cut short there are two.
    fn runs_only_pinned_program(&self) -> Result<bool, Error> {
        let pinned = pinned_programs(&self.folder)?;
        let in_force = match &self.link {
            Some(link) => Some(link_info(link, self.ifindex)?.program_id),
            None => clsact::program_in_force(self.ifindex)?,
        };
        Ok(pinned.len() == 1 && in_force == Some(pinned[0]))
    }

    /// Whether the kernel still runs the program on the interface.
    pub fn is_attached(&self) -> Result<bool, Error> {
        match &self.link {
            Some(link) => Ok(link_info(link, self.ifindex)?.ifindex == self.ifindex),
            None => clsact::is_attached(&self.folder, self.ifindex),
        }
    }

    /// By what the program is attached.
    #[must_use]
    pub fn hook(&self) -> MarkHook {
        if self.link.is_some() { MarkHook::Tcx } else { MarkHook::Clsact }
    }

    /// Takes the program off and removes its pins. After an error it may be called again.
    pub fn remove(&self) -> Result<(), Error> {
        remove_from(&self.folder, self.ifindex)
    }
}

/// Takes off what is attached by the pins in an interface's folder, and removes these pins. The folder
/// goes too, if nothing else is in it.
pub(crate) fn remove_from(folder: &Path, ifindex: u32) -> Result<(), Error> {
    if !folder.exists() {
        return Ok(());
    }
    if let Some(link) = open_pin(&folder.join(LINK))?
        && link_info(&link, ifindex)?.ifindex != 0
    {
        sys::link_detach(link.as_fd()).map_err(|source| Error::MarkLink {
            command: "BPF_LINK_DETACH",
            ifindex,
            source,
        })?;
    }
    clsact::detach(folder, ifindex)?;
    // The program's pin goes last: by it the next attempt would know the filter.
    for name in names(folder)? {
        remove_file(&folder.join(name))?;
    }
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
            Err(Error::io("remove", folder, error))
        }
        _ => Ok(()),
    }
}

fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let names = file_names(folder).map_err(|source| Error::io("list", folder, source))?;
    Ok(names.into_iter().filter(|name| name.starts_with(PREFIX)).collect())
}

fn attach_link(folder: &Path, ifindex: u32, program: &Program) -> Result<OwnedFd, Error> {
    let link = sys::tcx_link_create(program.fd()?, ifindex).map_err(|source| Error::MarkLink {
        command: "BPF_LINK_CREATE",
        ifindex,
        source,
    })?;
    let path = folder.join(LINK);
    // A link that has lost its device may still be pinned there.
    remove_file(&path)?;
    sys::object_pin(link.as_fd(), &path).map_err(|source| Error::io("pin", &path, source))?;
    Ok(link)
}

fn link_info(link: &OwnedFd, ifindex: u32) -> Result<sys::LinkInfo, Error> {
    sys::tcx_link_info(link.as_fd()).map_err(|source| Error::MarkLink {
        command: "BPF_OBJ_GET_INFO_BY_FD",
        ifindex,
        source,
    })
}

/// `EINVAL` from kernels that do not know the attach type or were built without it; `EOPNOTSUPP` should
/// one say it more plainly.
fn has_no_tcx(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}
