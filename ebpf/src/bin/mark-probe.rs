//! Test only: an XDP program that writes metadata as a test says, and a TC program that notes what the
//! packets carry behind the product's own.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod programs {
    use aya_ebpf::{
        EbpfContext as _,
        bindings::{__sk_buff, TC_ACT_UNSPEC, xdp_action, xdp_md},
        btf_maps::{Array, HashMap},
        helpers::generated::bpf_xdp_adjust_meta,
        macros::{btf_map, classifier, xdp},
        programs::{TcContext, XdpContext},
    };
    use sluice_ebpf::{context::Copied, mark, parse::Frame as _};
    use sluice_ebpf_common::Metadata;

    const UDP: u8 = 17;
    const TAG: u16 = 0x8100_u16.to_be();

    /// What is written, as it stands: a test may make it invalid.
    #[unsafe(no_mangle)]
    static METADATA: Metadata = Metadata::new(None, None, 0);
    /// Whether it is written.
    #[unsafe(no_mangle)]
    static WRITES: u32 = 1;
    /// Bytes of somebody else's metadata, written before: a multiple of four up to 200.
    #[unsafe(no_mangle)]
    static FOREIGN: u32 = 0;
    /// The UDP port to which packets are marked; 0: all packets are.
    #[unsafe(no_mangle)]
    static PORT: u32 = 9;

    /// Packets whose mark was written, and packets whose mark could not be.
    #[btf_map]
    static WRITTEN: Array<u64, 2> = Array::new();
    /// Packets by mark and priority.
    #[btf_map]
    static SEEN: HashMap<[u32; 2], u64, 64> = HashMap::new();

    #[xdp(frags)]
    pub fn mark_probe(ctx: XdpContext) -> u32 {
        if is_meant(ctx.ctx) {
            write_foreign(ctx.ctx, value(&FOREIGN));
            if value(&WRITES) != 0 {
                // SAFETY: the context is the one that the kernel passed.
                let written = unsafe { mark::write(ctx.ctx, core::hint::black_box(&METADATA)) };
                add(WRITTEN.get_ptr_mut(u32::from(!written)));
            }
        }
        xdp_action::XDP_PASS
    }

    #[classifier]
    pub fn watch_marks(ctx: TcContext) -> i32 {
        let skb: *mut __sk_buff = ctx.as_ptr().cast();
        // SAFETY: the context is the one that the kernel passed.
        let key = unsafe { [(*skb).mark, (*skb).priority] };
        if SEEN.get_ptr_mut(&key).is_none() {
            // BPF_NOEXIST: what another CPU has just put there stays.
            drop(SEEN.insert(&key, &0, 1));
        }
        add(SEEN.get_ptr_mut(&key));
        TC_ACT_UNSPEC
    }

    /// Whether the frame is one that shall be marked. IPv4 without options, at most one tag.
    #[inline(always)]
    fn is_meant(ctx: *mut xdp_md) -> bool {
        if value(&PORT) == 0 {
            return true;
        }
        // SAFETY: the context is the one that the kernel passed.
        let frame = unsafe { Copied::new(ctx) };
        let network = if frame.read::<u16>(12) == Some(TAG) { 18 } else { 14 };
        frame.read::<u8>(network + 9) == Some(UDP)
            && frame.read::<u16>(network + 22).map(u16::from_be).map(u32::from) == Some(value(&PORT))
    }

    #[inline(always)]
    fn write_foreign(ctx: *mut xdp_md, bytes: u32) {
        // SAFETY: the context is the one that the kernel passed.
        if bytes == 0 || unsafe { bpf_xdp_adjust_meta(ctx, -(bytes as i32)) } != 0 {
            return;
        }
        // SAFETY: as above.
        let (start, end) = unsafe { ((*ctx).data_meta as usize, (*ctx).data as usize) };
        for word in 0..50 {
            let at = start + word * 4;
            if at + 4 > end {
                return;
            }
            // SAFETY: the bytes lie inside the metadata area.
            unsafe { (at as *mut u32).write_unaligned(0xeeee_eeee) };
        }
    }

    /// Hides the initial value from the compiler: the loader writes the real one.
    #[inline(always)]
    fn value(global: &'static u32) -> u32 {
        *core::hint::black_box(global)
    }

    #[inline(always)]
    fn add(counter: Option<*mut u64>) {
        if let Some(counter) = counter {
            // SAFETY: the kernel keeps the value alive while the program runs; tests receive on one CPU.
            unsafe { *counter += 1 };
        }
    }
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
