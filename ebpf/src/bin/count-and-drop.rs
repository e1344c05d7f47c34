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

    #[btf_map]
    static PACKETS: PerCpuArray<u64, 1> = PerCpuArray::new();

    #[xdp(frags)]
    pub fn count_and_drop(_: XdpContext) -> u32 {
        if let Some(packets) = PACKETS.get_ptr_mut(0) {
            // SAFETY: the value belongs to this CPU, and XDP programs do not nest on a CPU.
            unsafe { *packets += 1 };
        }
        xdp_action::XDP_DROP
    }
}

#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
