//! The data plane's edge to the kernel: loads and attaches the XDP programs, reads the kernel back.
//! It decides nothing: which interface, which mode and which rules is the caller's business.

pub mod address_sets;
pub mod attachment;
pub mod bpffs;
pub mod cleanup;
mod counters;
mod error;
pub mod instance;
pub mod links;
pub mod marks;
mod programs;
mod rule_slots;
mod sources;
mod sys;
#[doc(hidden)]
pub mod test_programs;

pub use error::Error;
pub use programs::{RunStatisticsGuard, enable_run_statistics, program_name};

/// How a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachMode {
    /// By the driver, before a socket buffer exists.
    Native,
    /// By the stack, for drivers that cannot.
    Generic,
}

impl AttachMode {
    /// The name as status shows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "Native",
            Self::Generic => "Generic",
        }
    }

    fn flags(self) -> u32 {
        match self {
            Self::Native => sys::XDP_FLAGS_DRV_MODE,
            Self::Generic => sys::XDP_FLAGS_SKB_MODE,
        }
    }
}
