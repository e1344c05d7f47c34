//! The XDP program that every attachment runs. One loaded instance serves one revision of one
//! interface: its rules are the read-only global `TABLES`, its counters live on in a pinned map.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod xdp {
    use aya_ebpf::{
        bindings::{xdp_action, xdp_md},
        btf_maps::PerCpuArray,
        macros::{btf_map, xdp},
        programs::XdpContext,
    };
    use sluice_ebpf::{
        account::account,
        context::{Copied, Linear},
        parse::{Frame as _, parse},
    };
    use sluice_ebpf_common::{Counters, Outcome, Tables};

    #[unsafe(no_mangle)]
    static TABLES: Tables = Tables::EMPTY;

    #[btf_map]
    static COUNTERS: PerCpuArray<Counters, 1> = PerCpuArray::new();

    #[xdp(frags)]
    pub fn sluice(ctx: XdpContext) -> u32 {
        let Some(counters) = COUNTERS.get_ptr_mut(0) else {
            return xdp_action::XDP_PASS;
        };
        // SAFETY: the value belongs to this CPU, and XDP programs do not nest on a CPU.
        match decide(ctx.ctx, unsafe { &mut *counters }) {
            Outcome::DropRule => xdp_action::XDP_DROP,
            Outcome::PassRule | Outcome::PassNoMatch => xdp_action::XDP_PASS,
        }
    }

    #[inline(always)]
    fn decide(ctx: *mut xdp_md, counters: &mut Counters) -> Outcome {
        // SAFETY: the context is the one that the kernel passed.
        let frame = unsafe { Linear::new(ctx) };
        let flow = parse(&frame);
        if flow.malformed.is_some() && frame.has_more() {
            return decide_copied(ctx, counters);
        }
        account(tables(), &flow, frame.length(), counters)
    }

    /// The rare frame whose headers lie beyond the linear head. It stays out of the straight line.
    #[inline(never)]
    fn decide_copied(ctx: *mut xdp_md, counters: &mut Counters) -> Outcome {
        // SAFETY: the context is the one that the kernel passed.
        let frame = unsafe { Copied::new(ctx) };
        let flow = parse(&frame);
        account(tables(), &flow, frame.length(), counters)
    }

    /// Hides the initial value from the compiler: the loader writes the real one.
    #[inline(always)]
    fn tables() -> &'static Tables {
        core::hint::black_box(&TABLES)
    }
}

#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
