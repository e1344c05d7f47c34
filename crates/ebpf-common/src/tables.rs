//! The compiled rules of one program instance.
//!
//! A packet is classified by bit vectors: each field that rules read maps the packet's value to a
//! vector with one bit a rule (set: this rule accepts the value), the vectors are ANDed, and the
//! lowest bit left is the first rule that matches. The cost does not grow with the rules.

/// Rules that one interface can carry: one bit of a `u64` each.
pub const MAX_RULES: usize = 64;

/// Classes of ports: ports that the same rules accept are one class. A rule may list many ranges, so
/// nothing but the compiler bounds the classes: it refuses rules that need more than these.
pub const PORT_CLASSES: usize = 256;

/// Slots of rule counters on one interface. More than [`MAX_RULES`], so that a rule keeps its
/// counter over revisions and a new rule gets one that nobody writes to.
pub const RULE_SLOTS: usize = 1024;

/// In [`Tables::fields`]: some rule reads the protocol.
pub const FIELD_PROTOCOL: u32 = 1;
/// In [`Tables::fields`]: some rule reads the destination port.
pub const FIELD_DESTINATION_PORT: u32 = 1 << 1;

/// The read-only global `TABLES` of a program instance. The verifier knows the scalars in it as
/// constants (the map is frozen before the load) and removes the code of fields that no rule reads.
#[repr(C)]
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct Tables {
    /// Which fields the rules read: `FIELD_*`.
    pub fields: u32,
    /// [`crate::ABI_VERSION`] of whoever filled this.
    pub abi_version: u32,
    /// Rules whose action is terminal and drops.
    pub drop: u64,
    /// Rules whose action is terminal and passes.
    pub pass: u64,
    /// Rules that only count.
    pub count: u64,
    /// Rules that do not read the protocol: what is left when the packet has none or it is unknown.
    pub protocol_unknown: u64,
    /// Rules that do not read the destination port: what is left when the packet has none.
    pub destination_port_unknown: u64,
    /// By IP protocol number.
    pub protocol: [u64; 256],
    /// By class, see `destination_port_class`.
    pub destination_port: [u64; PORT_CLASSES],
    /// Counter slot of each rule, below [`RULE_SLOTS`].
    pub rule_slot: [u16; MAX_RULES],
    /// Destination port (host byte order) to class.
    pub destination_port_class: [u8; 1 << 16],
}

const _: () = assert!(size_of::<Tables>() == 48 + 256 * 8 + PORT_CLASSES * 8 + MAX_RULES * 2 + (1 << 16));

impl Tables {
    /// Tables without a rule: every packet passes.
    #[allow(clippy::large_stack_arrays, reason = "a constant, of which users make statics and boxes")]
    pub const EMPTY: Self = Self {
        fields: 0,
        abi_version: crate::ABI_VERSION,
        drop: 0,
        pass: 0,
        count: 0,
        protocol_unknown: 0,
        destination_port_unknown: 0,
        protocol: [0; 256],
        destination_port: [0; PORT_CLASSES],
        rule_slot: [0; MAX_RULES],
        destination_port_class: [0; 1 << 16],
    };
}

// SAFETY: repr(C), only integers, no padding (the size is asserted above).
#[cfg(feature = "user")]
unsafe impl aya::Pod for Tables {}
