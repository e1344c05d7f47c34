//! The XDP program that every attachment runs. One loaded instance serves one revision of one
//! interface: its rules are the read-only global `TABLES` and the map `FIXED`; counters, buckets and address sets live
//! on in pinned maps.
#![cfg_attr(target_arch = "bpf", no_std, no_main)]

#[cfg(target_arch = "bpf")]
mod xdp {
    use core::ffi::c_void;

    use aya_ebpf::{
        bindings::{BPF_F_MMAPABLE, BPF_NOEXIST, xdp_action, xdp_md},
        btf_maps::{Array, LruHashMap, PerCpuArray},
        helpers::generated::{bpf_ktime_get_ns, bpf_loop},
        macros::{btf_map, xdp},
        programs::XdpContext,
    };
    use sluice_ebpf::{
        address::{Page, Pages},
        bucket::Shared,
        classify::{Merged, merge_one},
        context::{Copied, Head},
        fast::{self, NOT_FOR_US, WALK},
        flow::Flow,
        limit::{cost, source_key, take},
        mark,
        parse::parse_into,
        vary::Varied,
        walk::{Environment, Rate, Walk, count_event, decide, drops},
    };
    use sluice_ebpf_common::{
        BUCKETS as BUCKET_COUNT, COUNTER_ELEMENTS, CounterElement, Event, Outcome, SOURCES_CREATED,
        SourceKey, Tables,
        prefixes::MAX_LISTS,
        tables::{Limit, MAX_BITS, RATE_SHIFT, SIDES},
    };

    #[unsafe(no_mangle)]
    static TABLES: Tables = Tables::EMPTY;

    /// Bench only: which bits of addresses and ports change from run to run.
    #[unsafe(no_mangle)]
    static VARIED: Varied = Varied::NOTHING;

    #[btf_map]
    static COUNTERS: PerCpuArray<CounterElement, COUNTER_ELEMENTS> = PerCpuArray::new();

    /// The prefixes that rules list. The loader makes it as large as they need.
    #[btf_map]
    static FIXED: Array<Page, 1> = Array::new();

    /// The address sets, shared by all instances of the node.
    #[btf_map]
    static LIVE: Array<Page, 1, { BPF_F_MMAPABLE as usize }> = Array::new();

    #[btf_map]
    static BUCKETS: Array<Shared, BUCKET_COUNT> = Array::new();

    /// Buckets of sources. The kernel recycles the one that was used longest ago.
    #[btf_map]
    static SOURCES: LruHashMap<SourceKey, Shared, 1> = LruHashMap::new();

    /// What does not fit on the stack.
    struct Scratch {
        flow: Flow,
        bytes: usize,
        walk: Walk,
        merged: [Merged; SIDES],
        /// Of the address that is being looked up: which one, and lists that are to be merged.
        side: u64,
        lists: u64,
    }

    #[btf_map]
    static SCRATCH: PerCpuArray<Scratch, 1> = PerCpuArray::new();

    #[xdp(frags)]
    pub fn sluice(ctx: XdpContext) -> u32 {
        if drops(outcome(ctx.ctx)) { xdp_action::XDP_DROP } else { xdp_action::XDP_PASS }
    }

    /// The parts are functions of their own, called from here one after the other, since together they need more stack
    /// than the kernel gives.
    #[inline(always)]
    fn outcome(ctx: *mut xdp_md) -> u8 {
        let Some(scratch) = SCRATCH.get_ptr_mut(0) else { return Outcome::PassNoMatch as u8 };
        // SAFETY: the value belongs to this CPU, see `Kernel::count`. Every field is written before it is read.
        let scratch = unsafe { &mut *scratch };
        let mut code = judge_fast(ctx, scratch);
        if code == NOT_FOR_US {
            if !parse_head(ctx, scratch) {
                parse_copied(ctx, scratch);
            }
            code = judge(scratch);
        }
        if code == WALK { walk(ctx, scratch) } else { code as u8 }
    }

    #[inline(never)]
    fn judge_fast(ctx: *mut xdp_md, scratch: &mut Scratch) -> u32 {
        // SAFETY: the context is the one that the kernel passed.
        let head = unsafe { Head::new(ctx) };
        fast::judge(&head, head.length(), tables(), core::hint::black_box(&VARIED), &Kernel { scratch })
    }

    /// False: the linear head does not settle the frame.
    #[inline(never)]
    fn parse_head(ctx: *mut xdp_md, scratch: &mut Scratch) -> bool {
        // SAFETY: the context is the one that the kernel passed.
        let head = unsafe { Head::new(ctx) };
        parse_into(&head, &mut scratch.flow);
        scratch.bytes = head.length();
        scratch.flow.is_settled()
    }

    /// The rare frame that the head does not settle.
    #[inline(never)]
    fn parse_copied(ctx: *mut xdp_md, scratch: &mut Scratch) {
        // SAFETY: the context is the one that the kernel passed.
        let frame = unsafe { Copied::new(ctx) };
        parse_into(&frame, &mut scratch.flow);
        scratch.bytes = frame.length();
    }

    #[inline(never)]
    fn judge(scratch: &mut Scratch) -> u32 {
        let scratch = &raw mut *scratch;
        // SAFETY: memory of this CPU; what decides reads the flow and writes the other fields.
        let (flow, bytes) = unsafe { (&(*scratch).flow, (*scratch).bytes) };
        decide(tables(), flow, bytes, &Kernel { scratch }).map_or(WALK, u32::from)
    }

    #[inline(never)]
    fn walk(ctx: *mut xdp_md, scratch: &mut Scratch) -> u8 {
        // SAFETY: the callback has the type that the helper calls.
        unsafe { bpf_loop(MAX_BITS as u32, step as *mut c_void, core::ptr::null_mut(), 0) };
        let kernel = Kernel { scratch };
        // SAFETY: memory of this CPU.
        let walk = unsafe { &(*kernel.scratch).walk };
        let outcome = walk.finish(&kernel);
        if tables().marks != 0 && !drops(outcome) && walk.end.marks() {
            mark(ctx, walk, &kernel);
        }
        outcome
    }

    /// What the rules gave travels with the packet, where the driver has room for it.
    #[inline(always)]
    fn mark(ctx: *mut xdp_md, walk: &Walk, kernel: &Kernel) {
        // SAFETY: the context is the one that the kernel passed, and nothing reads the packet any more.
        if !unsafe { mark::write(ctx, &walk.end.metadata()) } {
            count_event(kernel, Event::MarkFailed, u64::from(walk.bytes));
        }
    }

    /// What `bpf_loop` calls: 1 ends the loop.
    unsafe extern "C" fn step(_: u64, _: *mut c_void) -> u64 {
        let Some(scratch) = SCRATCH.get_ptr_mut(0) else { return 1 };
        // SAFETY: `Kernel::begin` has written it, on this CPU.
        let walk = unsafe { &mut (*scratch).walk };
        u64::from(walk.step(tables(), &Kernel { scratch }))
    }

    /// Likewise.
    unsafe extern "C" fn merge_next(_: u64, _: *mut c_void) -> u64 {
        let Some(scratch) = SCRATCH.get_ptr_mut(0) else { return 1 };
        // SAFETY: `Kernel::merge_each` has written both, on this CPU.
        let (side, lists) = unsafe { ((*scratch).side as usize, (*scratch).lists) };
        if lists == 0 {
            return 1;
        }
        merge_one(tables(), &Kernel { scratch }, side, lists);
        // SAFETY: as above.
        unsafe { (*scratch).lists = lists & (lists - 1) };
        0
    }

    /// Hides the initial value from the compiler: the loader writes the real one.
    #[inline(always)]
    fn tables() -> &'static Tables {
        core::hint::black_box(&TABLES)
    }

    struct Kernel {
        /// Memory of this CPU.
        scratch: *mut Scratch,
    }

    struct FixedPages;
    struct LivePages;

    impl Pages for FixedPages {
        #[inline(always)]
        fn page(&self, number: usize) -> Option<&Page> {
            FIXED.get(number as u32)
        }
    }

    impl Pages for LivePages {
        #[inline(always)]
        fn page(&self, number: usize) -> Option<&Page> {
            LIVE.get(number as u32)
        }
    }

    impl Environment for Kernel {
        type Fixed = FixedPages;
        type Live = LivePages;

        #[inline(always)]
        fn fixed(&self) -> &FixedPages {
            &FixedPages
        }

        #[inline(always)]
        fn live(&self) -> &LivePages {
            &LivePages
        }

        #[inline(always)]
        fn count(&self, element: usize, change: impl FnOnce(&mut CounterElement)) -> bool {
            let Some(counters) = COUNTERS.get_ptr_mut(element as u32) else { return false };
            // SAFETY: the value belongs to this CPU. In both modes the kernel runs the program with bottom
            // halves off, which keeps it on its CPU and every other run off that CPU until it returns; hard
            // interrupts run no XDP, and no action of ours makes the kernel run another program meanwhile.
            // A real-time kernel that lets one softirq preempt another on a CPU may interleave two runs.
            // That can cost a lost count: the verdict comes from the frame and the tables alone.
            change(unsafe { &mut *counters });
            true
        }

        #[inline(always)]
        fn rate(&self, limit: &Limit, slot: u16, walk: &Walk) -> Rate {
            // SAFETY: the helper has no conditions.
            let now = unsafe { bpf_ktime_get_ns() } << RATE_SHIFT;
            let cost = cost(limit, walk.bytes as usize);
            if limit.per_source != 0 {
                // A packet that shows no source has no bucket, and what has none is never dropped.
                if walk.version == 0 {
                    return Rate::Within;
                }
                return source_rate(limit, slot, walk, cost, now);
            }
            let Some(bucket) = BUCKETS.get(u32::from(slot)) else { return Rate::Unknown };
            rate_of(take(bucket, limit, cost, now))
        }

        #[inline(always)]
        fn walk(&self) -> &mut Walk {
            // SAFETY: memory of this CPU.
            unsafe { &mut (*self.scratch).walk }
        }

        #[inline(always)]
        fn all_merged(&self) -> &[Merged; SIDES] {
            // SAFETY: memory of this CPU.
            unsafe { &(*self.scratch).merged }
        }

        #[inline(always)]
        fn merged(&self, side: usize) -> &mut Merged {
            // SAFETY: as above.
            unsafe { &mut (*self.scratch).merged[side & (SIDES - 1)] }
        }

        #[inline(always)]
        fn merge_each(&self, side: usize, lists: u64) {
            // SAFETY: as above, and the callback has the type that the helper calls.
            unsafe {
                (*self.scratch).side = side as u64;
                (*self.scratch).lists = lists;
                bpf_loop(MAX_LISTS as u32, merge_next as *mut c_void, core::ptr::null_mut(), 0);
            }
        }
    }

    #[inline(always)]
    fn rate_of(within: bool) -> Rate {
        if within { Rate::Within } else { Rate::Exceeds }
    }

    #[inline(always)]
    fn source_rate(limit: &Limit, slot: u16, walk: &Walk, cost: u64, now: u64) -> Rate {
        let key = source_key(limit, slot, walk.version as u8, walk.source);
        // SAFETY: an entry that is recycled meanwhile is the bucket of another source for one packet.
        if let Some(bucket) = unsafe { SOURCES.get(&key) } {
            return rate_of(take(bucket, limit, cost, now));
        }
        let fresh = Shared::new(now.wrapping_add(cost));
        if SOURCES.insert(&key, &fresh, u64::from(BPF_NOEXIST)).is_ok() {
            if let Some(created) = BUCKETS.get(SOURCES_CREATED as u32) {
                created.add_one();
            }
            return Rate::Within;
        }
        // Another CPU was faster, or there is no memory.
        // SAFETY: as above.
        match unsafe { SOURCES.get(&key) } {
            Some(bucket) => rate_of(take(bucket, limit, cost, now)),
            None => Rate::Unknown,
        }
    }
}

#[cfg(not(target_arch = "bpf"))]
fn main() {}
