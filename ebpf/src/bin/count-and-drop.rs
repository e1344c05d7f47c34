//! Bench only: the least that a counting XDP program can do, as the baseline for the real one.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod xdp {
    use aya_ebpf::{
        bindings::xdp_action,
        btf_maps::PerCpuArray,
        macros::{btf_map, xdp},
        programs::XdpContext,
    };
    // For its panic handler.
    use sluice_ebpf as _;

    #[btf_map]
    static PACKETS: PerCpuArray<u64, 1> = PerCpuArray::new();

    #[xdp(frags)]
    pub fn count_and_drop(_: XdpContext) -> u32 {
        if let Some(packets) = PACKETS.get_ptr_mut(0) {
            // SAFETY: the value belongs to this CPU; see `count` in `sluice.rs`.
            unsafe { *packets += 1 };
        }
        xdp_action::XDP_DROP
    }
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
