//! Where pins live: a BPF file system, mounted if it is absent, and a folder of ours in it that one
//! process at a time works on.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fd::OwnedFd,
    fs::{FlockOperation, Mode, OFlags},
    io::Errno,
    mount::MountFlags,
};

use crate::{Error, sys};

/// Where the kernel's documentation and every tool expect the BPF file system.
const MOUNT_POINT: &str = "/sys/fs/bpf";
/// `BPF_FS_MAGIC` in the kernel's `linux/magic.h`.
const BPF_FS_MAGIC: u64 = 0xcafe_4a11;

/// The folder of pins, locked for this process: two agents, or an agent and a cleanup, never work on
/// it at the same time. The lock ends with the process, however that ends.
#[derive(Debug)]
pub struct PinFolder {
    path: PathBuf,
    mounted: bool,
    _lock: OwnedFd,
}

impl Drop for PinFolder {
    /// An empty folder is of no use to anybody. One with pins cannot be removed, and stays.
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.path));
    }
}

impl PinFolder {
    /// Opens `path`, which must lie in a BPF file system; makes it (and mounts the file system at its
    /// usual place) where it is absent.
    ///
    /// # Errors
    /// [`Error::NotBpffs`] elsewhere, [`Error::InUse`] while another process holds the folder.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mounted = path.starts_with(MOUNT_POINT) && !is_bpffs(Path::new(MOUNT_POINT));
        if mounted {
            mount_bpffs().map_err(|source| Error::Mount { path: MOUNT_POINT.into(), source })?;
        }
        let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
        if !is_bpffs(existing) {
            return Err(Error::NotBpffs { path: path.to_path_buf() });
        }
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|source| Error::io("make", path, source))?;
        Self::lock(path, mounted)
    }

    /// Whether what is pinned here may end with this process: the BPF file system had to be mounted, and it
    /// is not certain that this was done in the machine's own mount namespace.
    #[must_use]
    pub fn may_be_private(&self) -> bool {
        self.mounted && !is_mount_namespace_of_init()
    }

    /// Opens `path` only if it exists.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, Error> {
        if !path.exists() {
            return Ok(None);
        }
        if !is_bpffs(path) {
            return Err(Error::NotBpffs { path: path.to_path_buf() });
        }
        Self::lock(path, false).map(Some)
    }

    fn lock(path: &Path, mounted: bool) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let lock = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|source| Error::io("open", path, source.into()))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path: path.to_path_buf(), mounted, _lock: lock }),
            Err(Errno::WOULDBLOCK) => Err(Error::InUse { path: path.to_path_buf() }),
            Err(source) => Err(Error::io("lock", path, source.into())),
        }
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Index of each interface that has pins, in order, whether or not the interface still exists.
    pub fn interfaces(&self) -> Result<Vec<u32>, Error> {
        let names = file_names(&self.path).map_err(|source| Error::io("list", &self.path, source))?;
        let mut interfaces: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        interfaces.sort_unstable();
        Ok(interfaces)
    }

    pub(crate) fn interface(&self, ifindex: u32) -> PathBuf {
        self.path.join(ifindex.to_string())
    }
}

/// Names of everything in `folder`; those that are not UTF-8 are none of ours.
pub(crate) fn file_names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// Removes `path`; that it is gone already is no error.
pub(crate) fn remove_file(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        _ => Ok(()),
    }
}

/// Opens what is pinned at `path`. `None` if there is no such pin; that the kernel cannot open it just now
/// is another matter.
pub(crate) fn open_pin(path: &Path) -> Result<Option<OwnedFd>, Error> {
    match sys::object_get(path) {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::io("open", path, source)),
    }
}

fn is_bpffs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|found| u64::try_from(found.f_type) == Ok(BPF_FS_MAGIC))
}

fn is_mount_namespace_of_init() -> bool {
    let of = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    of("self").is_some() && of("self") == of("1")
}

fn mount_bpffs() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("bpf", MOUNT_POINT, "bpf", flags, Some(c"mode=0700"))?)
}
