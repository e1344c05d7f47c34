//! A word in a map that CPUs change together. The standard library keeps atomic operations from the BPF target; the
//! instructions are there since Linux 5.12, and the compiler's intrinsics give them.

use core::sync::atomic::AtomicU64;

/// A 64-bit word.
#[repr(transparent)]
pub struct Shared(AtomicU64);

impl Shared {
    /// A word before anybody shares it.
    #[inline(always)]
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }
}

#[cfg(target_arch = "bpf")]
impl Shared {
    /// Its value.
    #[inline(always)]
    pub fn load(&self) -> u64 {
        // SAFETY: the word is valid and aligned, and a load of 64 bits is one instruction.
        unsafe { self.0.as_ptr().read_volatile() }
    }

    /// Replaces `old` by `new`. False: the word was another one.
    #[inline(always)]
    pub fn replace(&self, old: u64, new: u64) -> bool {
        use core::intrinsics::{AtomicOrdering::SeqCst, atomic_cxchg};
        // SAFETY: the word is valid and aligned, and everybody changes it atomically.
        let (was, _) = unsafe { atomic_cxchg::<u64, { SeqCst }, { SeqCst }>(self.0.as_ptr(), old, new) };
        // The flag of the intrinsic is a type that the BPF back end cannot select.
        was == old
    }

    /// Adds one.
    #[inline(always)]
    pub fn add_one(&self) {
        use core::intrinsics::{AtomicOrdering::Relaxed, atomic_xadd};
        // SAFETY: as above.
        unsafe { atomic_xadd::<u64, u64, { Relaxed }>(self.0.as_ptr(), 1) };
    }
}

#[cfg(not(target_arch = "bpf"))]
mod host {
    use core::sync::atomic::Ordering::Relaxed;

    use super::Shared;

    impl Shared {
        /// Its value.
        pub fn load(&self) -> u64 {
            self.0.load(Relaxed)
        }

        /// Replaces `old` by `new`. False: the word was another one.
        pub fn replace(&self, old: u64, new: u64) -> bool {
            self.0.compare_exchange(old, new, Relaxed, Relaxed).is_ok()
        }

        /// Adds one.
        pub fn add_one(&self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
}
