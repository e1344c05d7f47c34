//! The XDP context as a [`Frame`]: the linear head by direct access, and a copying reader for the
//! rare headers that lie beyond it.

use core::mem::MaybeUninit;

use aya_ebpf::{
    bindings::xdp_md,
    helpers::generated::{bpf_xdp_get_buff_len, bpf_xdp_load_bytes},
};

use crate::parse::{Frame, Wire};

/// The largest offset that the verifier takes for packet access is 0xffff (`MAX_PACKET_OFF` in the
/// kernel's `kernel/bpf/verifier.c`). The parser stays below 0x7fff: 22 bytes of Ethernet and tags,
/// 40 of IPv6, eight extension headers of at most 2048 bytes.
const OFFSET_MASK: usize = 0x7fff;

/// The linear head of the frame, read in place.
pub struct Linear {
    data: usize,
    end: usize,
    length: usize,
}

impl Linear {
    /// Reads the bounds once.
    ///
    /// # Safety
    /// `ctx` is the context that the kernel passed to the program.
    #[inline(always)]
    pub unsafe fn new(ctx: *mut xdp_md) -> Self {
        // SAFETY: the caller's promise.
        let (length, data, end) = unsafe { (bpf_xdp_get_buff_len(ctx), (*ctx).data, (*ctx).data_end) };
        Self {
            data: data as usize,
            end: end as usize,
            length: length as usize,
        }
    }

    /// Whether some of the frame lies beyond the linear head.
    #[inline(always)]
    pub fn has_more(&self) -> bool {
        self.length > self.end - self.data
    }
}

impl Frame for Linear {
    #[inline(always)]
    fn read<T: Wire>(&self, offset: usize) -> Option<T> {
        let at = self.data + (offset & OFFSET_MASK);
        if at + size_of::<T>() > self.end {
            return None;
        }
        // SAFETY: the bytes lie inside the packet, and any bit pattern is a `T`.
        Some(unsafe { (at as *const T).read_unaligned() })
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.length
    }
}

/// The whole frame, read by copying.
pub struct Copied {
    ctx: *mut xdp_md,
    length: usize,
}

impl Copied {
    /// Reads the length once.
    ///
    /// # Safety
    /// `ctx` is the context that the kernel passed to the program.
    #[inline(always)]
    pub unsafe fn new(ctx: *mut xdp_md) -> Self {
        // SAFETY: the caller's promise.
        Self {
            ctx,
            length: unsafe { bpf_xdp_get_buff_len(ctx) } as usize,
        }
    }
}

impl Frame for Copied {
    #[inline(always)]
    fn read<T: Wire>(&self, offset: usize) -> Option<T> {
        let mut value = MaybeUninit::<T>::uninit();
        let size = size_of::<T>() as u32;
        // SAFETY: the helper writes `size` bytes or fails.
        let result = unsafe { bpf_xdp_load_bytes(self.ctx, offset as u32, value.as_mut_ptr().cast(), size) };
        if result != 0 {
            return None;
        }
        // SAFETY: the helper has filled the value, and any bit pattern is a `T`.
        Some(unsafe { value.assume_init() })
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.length
    }
}
