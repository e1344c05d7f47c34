//! The bpf(2) commands that the product needs and its loader library does not offer: links with the
//! right flags, guarded updates, and reading links back. One function, one command.

pub(crate) mod maps;

use std::{
    ffi::{CStr, CString},
    io,
    os::{
        fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
};

use aya_obj::generated::{bpf_attach_type, bpf_attr, bpf_cmd, bpf_link_info, bpf_link_type, bpf_prog_info};
use sluice_ebpf_common::SourceKey;

/// Attach natively or not at all (`XDP_FLAGS_DRV_MODE` in the kernel's `linux/if_link.h`).
pub(crate) const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
/// Attach generically or not at all (`XDP_FLAGS_SKB_MODE`).
pub(crate) const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const BPF_F_REPLACE: u32 = 1 << 2;
const BPF_F_BEFORE: u32 = 1 << 3;

/// What the kernel says of a link to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkInfo {
    pub(crate) id: u32,
    pub(crate) program_id: u32,
    /// 0 once the device is gone.
    pub(crate) ifindex: u32,
}

/// `BPF_LINK_CREATE` for XDP.
pub(crate) fn link_create(program: BorrowedFd<'_>, ifindex: u32, flags: u32) -> io::Result<OwnedFd> {
    let mut attr = zeroed_attr();
    // SAFETY: the union is all zero, and these are the fields of this command.
    let create = unsafe { &mut attr.link_create };
    create.__bindgen_anon_1.prog_fd = raw(program);
    create.__bindgen_anon_2.target_ifindex = ifindex;
    create.attach_type = bpf_attach_type::BPF_XDP as u32;
    create.flags = flags;
    // SAFETY: the fields hold no address.
    owned(unsafe { bpf(bpf_cmd::BPF_LINK_CREATE, &mut attr) }?)
}

/// `BPF_LINK_CREATE` for tcx at ingress, before all programs that are there.
pub(crate) fn tcx_link_create(program: BorrowedFd<'_>, ifindex: u32) -> io::Result<OwnedFd> {
    let mut attr = zeroed_attr();
    // SAFETY: the union is all zero, and these are the fields of this command.
    let create = unsafe { &mut attr.link_create };
    create.__bindgen_anon_1.prog_fd = raw(program);
    create.__bindgen_anon_2.target_ifindex = ifindex;
    create.attach_type = bpf_attach_type::BPF_TCX_INGRESS as u32;
    create.flags = BPF_F_BEFORE;
    // SAFETY: the fields hold no address.
    owned(unsafe { bpf(bpf_cmd::BPF_LINK_CREATE, &mut attr) }?)
}

/// `BPF_LINK_UPDATE`: swaps the program; with `old`, only if that is the one in force.
pub(crate) fn link_update(
    link: BorrowedFd<'_>,
    new: BorrowedFd<'_>,
    old: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut attr = zeroed_attr();
    // SAFETY: the union is all zero, and these are the fields of this command.
    let update = unsafe { &mut attr.link_update };
    update.link_fd = raw(link);
    update.__bindgen_anon_1.new_prog_fd = raw(new);
    if let Some(old) = old {
        update.__bindgen_anon_2.old_prog_fd = raw(old);
        update.flags = BPF_F_REPLACE;
    }
    // SAFETY: the fields hold no address.
    unsafe { bpf(bpf_cmd::BPF_LINK_UPDATE, &mut attr) }.map(drop)
}

/// `BPF_LINK_DETACH`: takes the program off the device at once, whoever else holds the link.
pub(crate) fn link_detach(link: BorrowedFd<'_>) -> io::Result<()> {
    let mut attr = zeroed_attr();
    attr.link_detach.link_fd = raw(link);
    // SAFETY: the fields hold no address.
    unsafe { bpf(bpf_cmd::BPF_LINK_DETACH, &mut attr) }.map(drop)
}

/// `BPF_OBJ_PIN`.
pub(crate) fn object_pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    let mut attr = zeroed_attr();
    // SAFETY: the union is all zero, and these are the fields of this command.
    let pin = unsafe { &mut attr.__bindgen_anon_4 };
    pin.pathname = path.as_ptr() as u64;
    pin.bpf_fd = raw(object);
    // SAFETY: `path` ends with a zero byte and outlives the call, which only reads it.
    unsafe { bpf(bpf_cmd::BPF_OBJ_PIN, &mut attr) }.map(drop)
}

/// `BPF_OBJ_GET`.
pub(crate) fn object_get(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    let mut attr = zeroed_attr();
    attr.__bindgen_anon_4.pathname = path.as_ptr() as u64;
    // SAFETY: `path` ends with a zero byte and outlives the call, which only reads it.
    owned(unsafe { bpf(bpf_cmd::BPF_OBJ_GET, &mut attr) }?)
}

/// `BPF_OBJ_GET_INFO_BY_FD` of an XDP link; `InvalidData` if it is a link of another type.
pub(crate) fn link_info(link: BorrowedFd<'_>) -> io::Result<LinkInfo> {
    let info = info_of_link(link, bpf_link_type::BPF_LINK_TYPE_XDP, "not an XDP link")?;
    // SAFETY: the kernel fills this member for links of the type that was just checked.
    let ifindex = unsafe { info.__bindgen_anon_1.xdp.ifindex };
    Ok(LinkInfo { id: info.id, program_id: info.prog_id, ifindex })
}

/// `BPF_OBJ_GET_INFO_BY_FD` of a tcx link; `InvalidData` if it is a link of another type.
pub(crate) fn tcx_link_info(link: BorrowedFd<'_>) -> io::Result<LinkInfo> {
    let info = info_of_link(link, bpf_link_type::BPF_LINK_TYPE_TCX, "not a tcx link")?;
    // SAFETY: the kernel fills this member for links of the type that was just checked.
    let ifindex = unsafe { info.__bindgen_anon_1.tcx.ifindex };
    Ok(LinkInfo { id: info.id, program_id: info.prog_id, ifindex })
}

fn info_of_link(link: BorrowedFd<'_>, kind: bpf_link_type, other: &str) -> io::Result<bpf_link_info> {
    // SAFETY: plain integers, for which zero is a value.
    let mut info: bpf_link_info = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel may write any bytes into integers.
    unsafe { object_info(link, &mut info) }?;
    if info.type_ == kind as u32 { Ok(info) } else { Err(io::Error::new(io::ErrorKind::InvalidData, other)) }
}

/// What a step through a hash map gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// Entries in the buffers.
    pub(crate) entries: u32,
    /// Where to go on.
    pub(crate) position: u32,
    /// Whether there is no more.
    pub(crate) is_last: bool,
}

/// `BPF_MAP_LOOKUP_BATCH` on a hash map: at most `most` entries behind `position` (`None`: the first).
///
/// # Errors
/// `InvalidInput` if the buffers do not hold so many keys of `SourceKey`'s size and values of eight bytes.
pub(crate) fn map_lookup_batch(
    map: BorrowedFd<'_>,
    position: Option<u32>,
    keys: &mut [u8],
    values: &mut [u8],
    most: u32,
) -> io::Result<Batch> {
    let room = most as usize;
    if keys.len() < room * size_of::<SourceKey>() || values.len() < room * size_of::<u64>() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut next = 0_u32;
    let mut attr = zeroed_attr();
    attr.batch.in_batch = position.as_ref().map_or(0, |position| std::ptr::from_ref(position) as u64);
    attr.batch.out_batch = std::ptr::from_mut(&mut next) as u64;
    attr.batch.keys = keys.as_mut_ptr() as u64;
    attr.batch.values = values.as_mut_ptr() as u64;
    attr.batch.count = most;
    attr.batch.map_fd = raw(map);
    // SAFETY: both positions are numbers as the kernel keeps them for hash maps; of keys and values it writes at most
    // `most`, for which there is room in a map of sources, and no other is opened here.
    let result = unsafe { bpf(bpf_cmd::BPF_MAP_LOOKUP_BATCH, &mut attr) };
    let is_last = match result {
        Ok(_) => false,
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => true,
        Err(error) => return Err(error),
    };
    // SAFETY: the kernel has written the number of entries there.
    Ok(Batch { entries: unsafe { attr.batch.count }, position: next, is_last })
}

/// `BPF_PROG_GET_FD_BY_ID`.
pub(crate) fn program_by_id(id: u32) -> io::Result<OwnedFd> {
    let mut attr = zeroed_attr();
    attr.__bindgen_anon_6.__bindgen_anon_1.prog_id = id;
    // SAFETY: the fields hold no address.
    owned(unsafe { bpf(bpf_cmd::BPF_PROG_GET_FD_BY_ID, &mut attr) }?)
}

/// `BPF_OBJ_GET_INFO_BY_FD` of a program: its name, which the kernel cuts to 15 bytes.
pub(crate) fn program_name(program: BorrowedFd<'_>) -> io::Result<String> {
    // SAFETY: plain integers, for which zero is a value; zero addresses and lengths ask for no list.
    let mut info: bpf_prog_info = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel may write any bytes into integers, and no address in `info` is set.
    unsafe { object_info(program, &mut info) }?;
    let bytes = info.name.map(libc::c_char::cast_unsigned);
    let name = CStr::from_bytes_until_nul(&bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(name.to_string_lossy().into_owned())
}

/// `BPF_OBJ_GET_INFO_BY_FD`.
///
/// # Safety
/// `T` is the kernel's type for this kind of object, any bytes are a `T`, and every address in `info`
/// is zero or that of enough memory.
unsafe fn object_info<T>(object: BorrowedFd<'_>, info: &mut T) -> io::Result<()> {
    let mut attr = zeroed_attr();
    // SAFETY: the union is all zero, and these are the fields of this command.
    let query = unsafe { &mut attr.info };
    query.bpf_fd = raw(object);
    query.info = std::ptr::from_mut(info) as u64;
    query.info_len = u32::try_from(size_of::<T>()).unwrap_or(u32::MAX);
    // SAFETY: the kernel writes at most `info_len` bytes to `info`, which outlives the call; for what
    // else `info` names, the caller's promise holds.
    unsafe { bpf(bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, &mut attr) }.map(drop)
}

fn zeroed_attr() -> bpf_attr {
    // SAFETY: a union of plain integers, for which zero is a value; the kernel asks for zeroes.
    unsafe { std::mem::zeroed() }
}

/// The system call itself. The kernel reads and writes where the addresses in `attr` say.
///
/// # Safety
/// Every address in the fields that `command` reads is zero, or that of memory that stays valid during
/// the call and may be used as the command uses it.
unsafe fn bpf(command: bpf_cmd, attr: &mut bpf_attr) -> io::Result<i64> {
    // SAFETY: `attr` is valid for its whole size; for what it points to, the caller's promise holds.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command as libc::c_long, std::ptr::from_mut(attr), size_of::<bpf_attr>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(fd: i64) -> io::Result<OwnedFd> {
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn raw(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}
