//! The mark's way from the XDP program to the TC program: a header in the packet's metadata area, and a
//! copy of it.
//!
//! The copy is for generic mode. There the kernel moves most packets into a larger buffer first (measured
//! on 6.18, for programs that take multi-buffer packets) and forgets the length of the Ethernet header. A
//! TC program then sees the packet from its network header on, and takes the 14 bytes before it for the end
//! of the metadata: the first 14 bytes of the area are out of its sight. Tagged packets are not affected.
//!
//! Nothing here decides, and the TC side leaves the area as it found it. To clear it would win nothing:
//! where GRO compares metadata (native mode), it does so before TC; and writing makes the kernel copy
//! every packet that something else holds as well.

use aya_ebpf::{
    bindings::{__sk_buff, xdp_md},
    helpers::generated::bpf_xdp_adjust_meta,
};
use sluice_ebpf_common::Metadata;

/// The header, and its copy.
type Area = [Metadata; 2];

/// Where the copy begins, as seen by a TC program to which the Ethernet header is metadata.
const COPY: usize = size_of::<Metadata>() - ETHERNET_HEADER;
const ETHERNET_HEADER: usize = 14;

/// Puts `metadata` in front of whatever metadata there is. `false`: the driver has no metadata or no
/// room, and the packet goes on unmarked. Every pointer into the packet is invalid afterwards.
///
/// # Safety
/// `ctx` is the context that the kernel passed to the program.
#[inline(always)]
#[must_use]
pub unsafe fn write(ctx: *mut xdp_md, metadata: &Metadata) -> bool {
    // SAFETY: the caller's promise.
    if unsafe { bpf_xdp_adjust_meta(ctx, -(size_of::<Area>() as i32)) } != 0 {
        return false;
    }
    // SAFETY: the caller's promise.
    let (start, end) = unsafe { ((*ctx).data_meta as usize, (*ctx).data as usize) };
    if start + size_of::<Area>() > end {
        // It has just grown by so much; the verifier does not know that.
        return false;
    }
    // SAFETY: the bytes lie inside the metadata area.
    unsafe { (start as *mut Area).write_unaligned([*metadata; 2]) };
    true
}

/// The header at the start of the metadata area, if it is one of ours.
///
/// # Safety
/// `skb` is the context that the kernel passed to the program.
#[inline(always)]
#[must_use]
pub unsafe fn read(skb: *mut __sk_buff) -> Option<Metadata> {
    // SAFETY: the caller's promise.
    let (start, end) = unsafe { ((*skb).data_meta as usize, (*skb).data as usize) };
    // SAFETY: these are the bounds of the metadata area.
    let read = |at| unsafe { read_at(at, end) };
    read(start).or_else(|| read(start + COPY))
}

/// The header of ours at `at`, if there is one before `end`.
///
/// # Safety
/// What lies between the two may be read.
#[inline(always)]
unsafe fn read_at(at: usize, end: usize) -> Option<Metadata> {
    if at + size_of::<Metadata>() > end {
        return None;
    }
    // SAFETY: the caller's promise, and any bit pattern is a header.
    let metadata = unsafe { (at as *const Metadata).read_unaligned() };
    metadata.is_ours().then_some(metadata)
}

/// Sets what `metadata` gives, and nothing else.
///
/// # Safety
/// `skb` is the context that the kernel passed to the program.
#[inline(always)]
pub unsafe fn apply(skb: *mut __sk_buff, metadata: &Metadata) {
    if let Some(mark) = metadata.mark() {
        // SAFETY: the caller's promise; the kernel lets a TC program write this field.
        unsafe { (*skb).mark = mark };
    }
    if let Some(priority) = metadata.priority() {
        // SAFETY: as above.
        unsafe { (*skb).priority = priority };
    }
}
