//! The XDP context as a [`Frame`], in two forms: the linear head by direct access, which settles nearly
//! every frame, and a copying reader for what it does not settle.

use core::mem::MaybeUninit;

use aya_ebpf::{
    bindings::xdp_md,
    helpers::generated::{bpf_xdp_get_buff_len, bpf_xdp_load_bytes},
};

use crate::parse::{Frame, OFFSET_MASK, PADDING, Wire};

/// A head that is longer may be the first part of a jumbo frame. The kernel tells the length of the whole
/// frame, but asking costs as much as the parser.
const ORDINARY: usize = 1600;

/// The linear head of the frame, read in place.
pub struct Head {
    data: usize,
    end: usize,
    length: usize,
}

impl Head {
    /// Reads the bounds once.
    ///
    /// # Safety
    /// `ctx` is the context that the kernel passed to the program.
    #[inline(always)]
    pub unsafe fn new(ctx: *mut xdp_md) -> Self {
        // SAFETY: the caller's promise.
        let (data, end) = unsafe { ((*ctx).data as usize, (*ctx).data_end as usize) };
        // The length comes from an end of its own: were it `end - data`, the compiler would conclude from
        // a packet length that was checked that headers inside it need no check, which the verifier
        // cannot follow.
        // SAFETY: as above.
        let own_end = unsafe { (&raw const (*ctx).data_end).read_volatile() as usize };
        let mut length = own_end - data;
        if length > ORDINARY {
            // SAFETY: the caller's promise.
            length = unsafe { frame_length(ctx) };
        }
        Self { data, end, length }
    }

    /// Bytes of the frame, once [`Frame::holds`] has said yes. (The one that this miscounts was made for
    /// it: a short head, a packet that ends in the head's last bytes, and behind it more than the packet.)
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Frame for Head {
    #[inline(always)]
    fn read<T: Wire>(&self, offset: usize) -> Option<T> {
        let at = self.data + (offset & OFFSET_MASK);
        if at + size_of::<T>() > self.end {
            return None;
        }
        // SAFETY: the bytes lie inside the packet, and any bit pattern is a `T`.
        Some(unsafe { (at as *const T).read_unaligned() })
    }

    /// Says no as well where more than padding follows: then the frame may go on beyond the head.
    #[inline(always)]
    fn holds(&self, end: usize) -> bool {
        self.length.wrapping_sub(end) <= PADDING
    }

    #[inline(always)]
    fn rest(&self, _: usize) -> Option<usize> {
        None
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
        Self { ctx, length: unsafe { frame_length(ctx) } }
    }

    /// Bytes of the frame.
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length
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
    fn holds(&self, end: usize) -> bool {
        end <= self.length
    }

    #[inline(always)]
    fn rest(&self, offset: usize) -> Option<usize> {
        self.length.checked_sub(offset)
    }
}

/// Bytes of the whole frame.
///
/// # Safety
/// `ctx` is the context that the kernel passed to the program.
#[inline(always)]
unsafe fn frame_length(ctx: *mut xdp_md) -> usize {
    // SAFETY: the caller's promise.
    unsafe { bpf_xdp_get_buff_len(ctx) as usize }
}
