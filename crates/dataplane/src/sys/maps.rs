//! The bpf(2) commands on maps that the loader library does not offer.

use std::{
    ffi::CStr,
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

use aya_obj::generated::{bpf_cmd, bpf_map_type};

use super::{bpf, owned, raw, zeroed_attr};

/// Elements in a row that a process may map into its memory (`BPF_F_MMAPABLE` in the kernel's `linux/bpf.h`).
pub(crate) const BPF_F_MMAPABLE: u32 = 1 << 10;

/// What `BPF_MAP_CREATE` is asked for. Keys are numbers of 32 bits.
pub(crate) struct Definition<'a> {
    pub(crate) kind: bpf_map_type,
    pub(crate) value_size: u32,
    pub(crate) entries: u32,
    pub(crate) flags: u32,
    /// For a map of maps: one like those that it will hold.
    pub(crate) inner: Option<BorrowedFd<'a>>,
    /// The kernel keeps 15 bytes.
    pub(crate) name: &'static CStr,
}

/// `BPF_MAP_CREATE`.
pub(crate) fn map_create(definition: &Definition<'_>) -> io::Result<OwnedFd> {
    let mut attr = zeroed_attr();
    // SAFETY: the union is all zero, and these are the fields of this command.
    let create = unsafe { &mut attr.__bindgen_anon_1 };
    create.map_type = definition.kind as u32;
    create.key_size = 4;
    create.value_size = definition.value_size;
    create.max_entries = definition.entries;
    create.map_flags = definition.flags;
    create.inner_map_fd = definition.inner.map_or(0, raw);
    for (to, from) in create.map_name.iter_mut().take(15).zip(definition.name.to_bytes()) {
        *to = from.cast_signed();
    }
    // SAFETY: the fields hold no address.
    owned(unsafe { bpf(bpf_cmd::BPF_MAP_CREATE, &mut attr) }?)
}

/// `BPF_MAP_UPDATE_ELEM` of a map of maps: puts `inner` at `key`.
pub(crate) fn map_put_map(map: BorrowedFd<'_>, key: u32, inner: BorrowedFd<'_>) -> io::Result<()> {
    let value = raw(inner);
    let mut attr = zeroed_attr();
    // SAFETY: the union is all zero, and these are the fields of this command.
    let update = unsafe { &mut attr.__bindgen_anon_2 };
    update.map_fd = raw(map);
    update.key = std::ptr::from_ref(&key) as u64;
    update.__bindgen_anon_1.value = std::ptr::from_ref(&value) as u64;
    // SAFETY: the kernel reads 4 bytes from each of the two, which outlive the call.
    unsafe { bpf(bpf_cmd::BPF_MAP_UPDATE_ELEM, &mut attr) }.map(drop)
}
