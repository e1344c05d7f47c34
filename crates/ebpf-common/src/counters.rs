//! What the program instances of an interface count, per CPU.

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
pub const OUTCOMES: usize = 16;

/// Number of slots in [`Counters::events`].
pub const EVENTS: usize = 16;

/// Rule counters in one element of the map `COUNTERS`, a power of two.
pub const ELEMENT_SLOTS: usize = RULE_SLOTS / COUNTER_ELEMENTS;
/// Elements of the map `COUNTERS`: the kernel bounds the size of one.
pub const COUNTER_ELEMENTS: usize = 4;

macro_rules! codes {
    ($(#[$type_doc:meta])* $type:ident { $($(#[$doc:meta])* $name:ident = $code:literal,)* }) => {
        $(#[$type_doc])*
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$doc])* $name = $code,)*
        }

        impl $type {
            /// Every one, in the order of its code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name, as status and metrics show it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

codes! {
    /// Why a packet got its verdict. Every packet that a program sees is counted under exactly one.
    Outcome {
        /// `XDP_PASS`: nothing decided.
        PassNoMatch = 0,
        /// `XDP_PASS`: a Pass rule decided.
        PassRule = 1,
        /// `XDP_DROP`: a Drop rule decided.
        DropRule = 2,
        /// `XDP_PASS`: the built-in failsafe decided.
        PassFailsafe = 3,
        /// `XDP_PASS`: a policy's default action decided.
        PassDefault = 4,
        /// `XDP_DROP`: a policy's default action decided.
        DropDefault = 5,
        /// `XDP_DROP`: the packet exceeded a rate.
        DropRateLimit = 6,
        /// `XDP_PASS`: a Steer rule decided.
        Steer = 7,
        /// `XDP_PASS`: a Socket rule decided.
        Socket = 8,
    }
}

codes! {
    /// What else happened to packets.
    Event {
        /// A policy in `DryRun` would have dropped the packet.
        DryRunDrop = 0,
        /// A rule marked the packet, but the driver gave no room for metadata: it passed without the mark.
        MarkFailed = 1,
        /// A source's rate could not be looked up or entered: the packet was within it.
        SourceTableFailed = 2,
        /// The lookup of an address failed, which cannot happen: the rules that read it did not match.
        TableFailed = 3,
    }
}

/// One CPU's counters of an interface: the element of the per-CPU array `COUNTERS`. A packet's outcome is counted in
/// the element that has the slot of the rule that decided, so that the packet pays for one map lookup only; the outcomes
/// of an interface are the sum over elements. An element must stay below 32 KiB, the
/// largest of a per-CPU map (`PCPU_MIN_UNIT_SIZE` in the kernel's `kernel/bpf/arraymap.c`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CounterElement {
    /// By [`Outcome`].
    pub outcomes: [Counter; OUTCOMES],
    /// By [`Event`]. These packets are in `outcomes` as well.
    pub events: [Counter; EVENTS],
    /// By [`crate::Malformed`]; slot 0 is not used. These packets are in `outcomes` as well.
    pub malformed: [Counter; MALFORMED_REASONS],
    /// By rule slot modulo [`ELEMENT_SLOTS`].
    pub rules: [Counter; ELEMENT_SLOTS],
}

const _: () = assert!(
    size_of::<CounterElement>()
        == (OUTCOMES + EVENTS + MALFORMED_REASONS + ELEMENT_SLOTS) * size_of::<Counter>()
);
const _: () = assert!(size_of::<CounterElement>() <= 32 << 10);

/// The counters of an interface: what user space sums over elements and CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// By [`Outcome`].
    pub outcomes: [Counter; OUTCOMES],
    /// By [`Event`].
    pub events: [Counter; EVENTS],
    /// By [`crate::Malformed`]; slot 0 is not used.
    pub malformed: [Counter; MALFORMED_REASONS],
    /// By rule slot: packets that the rule matched.
    pub rules: [Counter; RULE_SLOTS],
}

impl Outcome {
    /// Whether the packet is dropped.
    #[must_use]
    pub const fn drops(self) -> bool {
        matches!(self, Self::DropRule | Self::DropDefault | Self::DropRateLimit)
    }
}

impl Counters {
    /// Nothing counted.
    #[allow(clippy::large_stack_arrays, reason = "a constant, of which users make boxes")]
    pub const ZERO: Self = Self {
        outcomes: [Counter::ZERO; OUTCOMES],
        events: [Counter::ZERO; EVENTS],
        malformed: [Counter::ZERO; MALFORMED_REASONS],
        rules: [Counter::ZERO; RULE_SLOTS],
    };

    /// Packets that the program has seen.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.outcomes.iter().map(|counter| counter.packets).sum()
    }
}

impl CounterElement {
    /// Nothing counted.
    pub const ZERO: Self = Self {
        outcomes: [Counter::ZERO; OUTCOMES],
        events: [Counter::ZERO; EVENTS],
        malformed: [Counter::ZERO; MALFORMED_REASONS],
        rules: [Counter::ZERO; ELEMENT_SLOTS],
    };
}

impl Counter {
    /// Nothing counted.
    pub const ZERO: Self = Self { packets: 0, bytes: 0 };
}

// SAFETY: repr(C), only u64, no padding.
#[cfg(feature = "user")]
unsafe impl aya::Pod for CounterElement {}
