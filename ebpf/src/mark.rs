//! The mark's way from the XDP program to the TC program: 16 bytes in the packet's metadata area.
//!
//! Nothing here decides, and the TC side leaves the area as it found it. To clear it would win nothing:
//! where GRO compares metadata (native mode), it does so before TC; and writing makes the kernel copy
//! every packet that something else holds as well.

use aya_ebpf::{
    bindings::{__sk_buff, xdp_md},
    helpers::generated::bpf_xdp_adjust_meta,
};
use sluice_ebpf_common::Metadata;

/// Puts `metadata` in front of whatever metadata there is. `false`: the driver has no metadata or no
/// room, and the packet goes on unmarked. Every pointer into the packet is invalid afterwards.
///
/// # Safety
/// `ctx` is the context that the kernel passed to the program.
#[inline(always)]
#[must_use]
pub unsafe fn write(ctx: *mut xdp_md, metadata: &Metadata) -> bool {
    // SAFETY: the caller's promise.
    if unsafe { bpf_xdp_adjust_meta(ctx, -(size_of::<Metadata>() as i32)) } != 0 {
        return false;
    }
    // SAFETY: the caller's promise.
    let (start, end) = unsafe { ((*ctx).data_meta as usize, (*ctx).data as usize) };
    if start + size_of::<Metadata>() > end {
        // It has just grown by so much; the verifier does not know that.
        return false;
    }
    // SAFETY: the bytes lie inside the metadata area.
    unsafe { (start as *mut Metadata).write_unaligned(*metadata) };
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
    if start + size_of::<Metadata>() > end {
        return None;
    }
    // SAFETY: the bytes lie inside the metadata area, and any bit pattern is a header.
    let metadata = unsafe { (start as *const Metadata).read_unaligned() };
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
