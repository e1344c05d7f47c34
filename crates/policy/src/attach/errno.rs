//! The errno values that an attach is known to answer with, by the kernel's names. They are the
//! numbers of the architectures that the agent runs on.

pub(super) const EPERM: i32 = 1;
pub(super) const ENOMEM: i32 = 12;
pub(super) const EACCES: i32 = 13;
pub(super) const EBUSY: i32 = 16;
pub(super) const EEXIST: i32 = 17;
pub(super) const ENODEV: i32 = 19;
pub(super) const EINVAL: i32 = 22;
pub(super) const ENOSPC: i32 = 28;
pub(super) const ERANGE: i32 = 34;
pub(super) const EOPNOTSUPP: i32 = 95;
/// Not for user space, but some drivers let it out.
pub(super) const ENOTSUPP: i32 = 524;

const NAMES: &[(i32, &str)] = &[
    (EPERM, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (7, "E2BIG"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (ENOMEM, "ENOMEM"),
    (EACCES, "EACCES"),
    (14, "EFAULT"),
    (EBUSY, "EBUSY"),
    (EEXIST, "EEXIST"),
    (ENODEV, "ENODEV"),
    (EINVAL, "EINVAL"),
    (ENOSPC, "ENOSPC"),
    (ERANGE, "ERANGE"),
    (38, "ENOSYS"),
    (EOPNOTSUPP, "EOPNOTSUPP"),
    (100, "ENETDOWN"),
    (110, "ETIMEDOUT"),
    (ENOTSUPP, "ENOTSUPP"),
];

/// The name of an errno, or its number.
pub(super) fn name(errno: i32) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == errno);
    known.map_or_else(|| format!("errno {errno}"), |(_, name)| (*name).to_owned())
}
