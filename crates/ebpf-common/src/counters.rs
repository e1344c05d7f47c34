//! What a program instance counts, per CPU.

use crate::{MALFORMED_REASONS, RULE_SLOTS};

/// Packets and bytes. Bytes are those of the whole frame without frame check sequence.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Number of slots in [`Counters::outcomes`].
pub const OUTCOMES: usize = 8;

/// Why a packet got its verdict. Every packet that a program sees is counted under exactly one.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// `XDP_PASS`: no rule matched.
    PassNoMatch = 0,
    /// `XDP_PASS`: a Pass rule matched first.
    PassRule = 1,
    /// `XDP_DROP`: a Drop rule matched first.
    DropRule = 2,
}

/// One CPU's counters of an interface: the single value of the per-CPU array `COUNTERS`. All of it
/// is one value so that a packet pays for one map lookup only. It must stay below 32 KiB, the
/// largest element of a per-CPU map (`PCPU_MIN_UNIT_SIZE` in the kernel's `kernel/bpf/arraymap.c`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// By [`Outcome`].
    pub outcomes: [Counter; OUTCOMES],
    /// By [`crate::Malformed`]; slot 0 is not used. These packets are in `outcomes` as well.
    pub malformed: [Counter; MALFORMED_REASONS],
    /// By rule slot: packets that the rule matched and, for a terminal action, decided.
    pub rules: [Counter; RULE_SLOTS],
}

const _: () = assert!(size_of::<Counters>() == (OUTCOMES + MALFORMED_REASONS + RULE_SLOTS) * 16);
const _: () = assert!(size_of::<Counters>() <= 32 << 10);

impl Outcome {
    /// Every outcome, in the order of its code.
    pub const ALL: [Self; 3] = [Self::PassNoMatch, Self::PassRule, Self::DropRule];

    /// The outcome's name, as status and metrics show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PassNoMatch => "PassNoMatch",
            Self::PassRule => "PassRule",
            Self::DropRule => "DropRule",
        }
    }

    /// Whether the packet is dropped.
    #[must_use]
    pub const fn drops(self) -> bool {
        matches!(self, Self::DropRule)
    }
}

impl Counters {
    /// Nothing counted.
    pub const ZERO: Self = {
        const NONE: Counter = Counter { packets: 0, bytes: 0 };
        Self { outcomes: [NONE; OUTCOMES], malformed: [NONE; MALFORMED_REASONS], rules: [NONE; RULE_SLOTS] }
    };

    /// Packets that the program has seen.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.outcomes.iter().map(|counter| counter.packets).sum()
    }
}

// SAFETY: repr(C), only u64, no padding.
#[cfg(feature = "user")]
unsafe impl aya::Pod for Counters {}
