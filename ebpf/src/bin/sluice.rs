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
        context::{Copied, Head},
        flow::Flow,
        parse::parse,
    };
    use sluice_ebpf_common::{Counters, Outcome, Tables};

    #[unsafe(no_mangle)]
    static TABLES: Tables = Tables::EMPTY;

    #[btf_map]
    static COUNTERS: PerCpuArray<Counters, 1> = PerCpuArray::new();

    #[xdp(frags)]
    pub fn sluice(ctx: XdpContext) -> u32 {
        match decide(ctx.ctx) {
            Some(Outcome::DropRule) => xdp_action::XDP_DROP,
            Some(Outcome::PassRule | Outcome::PassNoMatch) | None => xdp_action::XDP_PASS,
        }
    }

    #[inline(always)]
    fn decide(ctx: *mut xdp_md) -> Option<Outcome> {
        // SAFETY: the context is the one that the kernel passed.
        let head = unsafe { Head::new(ctx) };
        let flow = parse(&head);
        if flow.is_settled() { count(&flow, head.length()) } else { decide_copied(ctx) }
    }

    /// The rare frame that the head does not settle. It stays out of the straight line, which is the
    /// faster for not carrying half a flow along.
    #[inline(never)]
    fn decide_copied(ctx: *mut xdp_md) -> Option<Outcome> {
        // SAFETY: the context is the one that the kernel passed.
        let frame = unsafe { Copied::new(ctx) };
        count(&parse(&frame), frame.length())
    }

    /// `None` cannot happen: the map has its one element.
    #[inline(always)]
    fn count(flow: &Flow, bytes: usize) -> Option<Outcome> {
        let counters = COUNTERS.get_ptr_mut(0)?;
        // SAFETY: the value belongs to this CPU. In both modes the kernel runs the program with bottom
        // halves off, which keeps it on its CPU and every other run off that CPU until it returns; hard
        // interrupts run no XDP, and no action of ours makes the kernel run another program meanwhile.
        // A real-time kernel that lets one softirq preempt another on a CPU may interleave two runs.
        // That can cost a lost count: the verdict comes from the frame and the read-only tables alone.
        Some(account(tables(), flow, bytes, unsafe { &mut *counters }))
    }

    /// Hides the initial value from the compiler: the loader writes the real one.
    #[inline(always)]
    fn tables() -> &'static Tables {
        core::hint::black_box(&TABLES)
    }
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
