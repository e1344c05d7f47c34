//! The TC program at ingress: gives a packet the mark and the priority that the XDP program wrote in
//! front of it. It drops nothing, and lets every other program and filter run.
//!
//! An object of its own beside `sluice`: loading an object makes all its maps, and those of the XDP
//! program are large.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod tc {
    use aya_ebpf::{EbpfContext as _, bindings::TC_ACT_UNSPEC, macros::classifier, programs::TcContext};
    use sluice_ebpf::mark;

    /// Under tcx the kernel calls the same number `TCX_NEXT`: either way, whatever comes next runs.
    const NEXT: i32 = TC_ACT_UNSPEC;

    #[classifier]
    pub fn sluice_tc(ctx: TcContext) -> i32 {
        let skb = ctx.as_ptr().cast();
        // SAFETY: the context is the one that the kernel passed.
        if let Some(metadata) = unsafe { mark::read(skb) } {
            // SAFETY: as above.
            unsafe { mark::apply(skb, &metadata) };
        }
        NEXT
    }
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
