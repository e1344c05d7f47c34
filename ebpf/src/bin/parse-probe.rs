//! Test only: parses a frame exactly as the product does and stores what it found, so that tests see
//! the parser as the verifier and the processor saw it.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod xdp {
    use aya_ebpf::{
        bindings::{xdp_action, xdp_md},
        btf_maps::Array,
        macros::{btf_map, xdp},
        programs::XdpContext,
    };
    use sluice_ebpf::{
        context::{Copied, Head},
        flow::Flow,
        parse::parse,
        words::{self, Words},
    };

    #[btf_map]
    static PARSED: Array<Words, 1> = Array::new();

    #[xdp(frags)]
    pub fn parse_probe(ctx: XdpContext) -> u32 {
        if !store_head(ctx.ctx) {
            store_copied(ctx.ctx);
        }
        xdp_action::XDP_PASS
    }

    // Both stay out of line, so that one's stack is gone before the other's begins.
    #[inline(never)]
    fn store_head(ctx: *mut xdp_md) -> bool {
        // SAFETY: the context is the one that the kernel passed.
        let flow = parse(&unsafe { Head::new(ctx) });
        if flow.is_settled() {
            store(&flow);
        }
        flow.is_settled()
    }

    #[inline(never)]
    fn store_copied(ctx: *mut xdp_md) {
        // SAFETY: the context is the one that the kernel passed.
        store(&parse(&unsafe { Copied::new(ctx) }));
    }

    #[inline(always)]
    fn store(flow: &Flow) {
        if let Some(parsed) = PARSED.get_ptr_mut(0) {
            // SAFETY: one test at a time runs this instance.
            words::write(flow, unsafe { &mut *parsed });
        }
    }
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
