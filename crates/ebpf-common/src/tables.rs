//! The compiled rules of one program instance.
//!
//! A packet is classified by bit vectors over equivalence classes. Every rule has a bit (a rule with `not` may have
//! several). Each field that rules read maps the packet's value to the vector of the rules that accept it, the vectors are ANDed, and the
//! bits left are the rules that match; the least of their numbers comes first. The cost does not grow with the rules.
//!
//! A vector is kept as a difference: the rules that do not read the field accept every value, so their bits are
//! the field's [`Tables::wild`] vector; what a value adds to it is an [`Entry`], a run of words that is as short
//! as its rules are few. A value that is unknown adds nothing.

/// Words of a vector.
pub const WORDS: usize = 32;
/// Bits of a vector: rules, the alternatives of rules with `not`, the failsafe and default actions.
pub const MAX_BITS: usize = WORDS * 64;
/// Rules of policies that one interface can carry.
pub const MAX_RULES: usize = 1024;
/// Entries of all fields together; entry 0 adds nothing.
pub const MAX_ENTRIES: usize = 1 << 14;
/// Words of all entries together.
pub const MAX_EXTRA: usize = 1 << 15;
/// Runs that the values of a 16-bit field fall into.
pub const MAX_RUNS: usize = 1 << 13;
/// Rules with a rate, and marks, on one interface.
pub const MAX_PARAMETERS: usize = 1024;
/// Slots of rule counters on one interface: two for each rule (a rate limit counts what exceeds it apart), and more,
/// so that a rule keeps its counter over revisions and a new rule gets one that nobody writes to.
pub const RULE_SLOTS: usize = 4096;

/// A field of packets: a bit in [`Tables::fields`] and an index of [`Tables::wild`].
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// IP version, fragment, ARP, link control: see [`Tables::frame`].
    Frame = 0,
    /// Upper protocol.
    Protocol = 1,
    /// Source port.
    SourcePort = 2,
    /// Destination port.
    DestinationPort = 3,
    /// Source address, by prefixes that rules list.
    Source = 4,
    /// Destination address, likewise.
    Destination = 5,
    /// Source address, by lists of address sets.
    SourceSet = 6,
    /// Destination address, likewise.
    DestinationSet = 7,
    /// TCP flags.
    TcpFlags = 8,
    /// ICMP type and code.
    Icmp = 9,
    /// Id of the outermost VLAN tag.
    Vlan = 10,
    /// Length of the IP packet.
    Length = 11,
    /// Source address, by lists of address sets that must not hold it.
    SourceNotSet = 12,
    /// Destination address, likewise.
    DestinationNotSet = 13,
}

/// Number of fields.
pub const FIELDS: usize = 14;

impl Field {
    /// The bit of the field in [`Tables::fields`].
    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// How rules ask for lists of address sets: an index of [`Tables::lists`].
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The list must hold the source.
    Source = 0,
    /// The list must hold the destination.
    Destination = 1,
    /// The list must not hold the source.
    NotSource = 2,
    /// The list must not hold the destination.
    NotDestination = 3,
}

/// Number of sides.
pub const SIDES: usize = 4;

/// What a value adds to its field's wild vector: words `first..` of which the ones that are set in `summary` hold bits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub struct Entry {
    /// Bit w: word w has bits.
    pub summary: u32,
    /// Word w is `extra[(offset + w) % MAX_EXTRA]`: the offset wraps below 0 where the run begins behind word 0.
    pub offset: u32,
}

/// Values of 16 bits in runs of one entry each: the run of a value is the number of run starts up to it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct Runs {
    /// Bit v % 64 of word v / 64: a run starts at v. (Never set for 0, which begins run 0.)
    pub starts: [u64; 1024],
    /// By word: starts in the words before it.
    pub before: [u16; 1024],
    /// Entry of each run.
    pub entry: [u16; MAX_RUNS],
}

/// What a rule does.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Decide: the outcome says how.
    Decide = 0,
    /// Count and go on.
    Count = 1,
    /// Drop above a rate: `parameter` is the index of [`Tables::limits`].
    RateLimit = 2,
    /// Mark and go on: `parameter` is the index of [`Tables::marks`].
    Mark = 3,
}

/// In [`Rule::flags`]: the policy is in `DryRun`.
pub const RULE_DRY_RUN: u8 = 1;

/// One rule, or one alternative of a rule with `not`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub struct Rule {
    /// An [`Action`].
    pub action: u8,
    /// The [`crate::Outcome`] if it decides.
    pub outcome: u8,
    /// `RULE_*`.
    pub flags: u8,
    /// 0.
    pub padding: u8,
    /// Its counter slot, below [`RULE_SLOTS`].
    pub slot: u16,
    /// The rule to go on with when it does not decide: behind the other alternatives of the rule.
    pub next: u16,
    /// The first rule behind its policy: where a decision in `DryRun` goes on.
    pub policy_end: u16,
    /// See [`Action`].
    pub parameter: u16,
}

/// A rate as a virtual clock: each packet moves the bucket's time on by its cost, and exceeds the rate when that time
/// would be more than `burst` ahead of the present. Times are in units of 1/64 nanosecond, `RATE_SHIFT`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub struct Limit {
    /// A packet's cost is `amount * multiplier >> shift`; the amount is 1, or its bits.
    pub multiplier: u64,
    /// The burst as time; below 2^61.
    pub burst: u64,
    /// The farthest that a bucket may be ahead: the burst, the cost of the largest packet, and what CPUs' readings of the
    /// clock may lie apart; below 2^62.
    pub horizon: u64,
    /// See `multiplier`.
    pub shift: u8,
    /// 1: amounts are bits; 0: packets.
    pub bits: u8,
    /// 1: each source prefix has a bucket; 0: all packets share one.
    pub per_source: u8,
    /// Length of IPv4 source prefixes, 1 to 32.
    pub prefix_v4: u8,
    /// Length of IPv6 source prefixes, 1 to 128.
    pub prefix_v6: u8,
    /// 0.
    pub padding: u8,
    /// Counter slot of what exceeds.
    pub exceeded_slot: u16,
}

/// Bits by which a nanosecond is shifted in the times of a [`Limit`].
pub const RATE_SHIFT: u32 = 6;

/// In [`Marking::given`]: the mark is given.
pub const GIVES_MARK: u32 = 1;
/// In [`Marking::given`]: the priority is given.
pub const GIVES_PRIORITY: u32 = 2;

/// What a Mark rule gives the packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub struct Marking {
    /// `GIVES_*`.
    pub given: u32,
    /// The mark.
    pub mark: u32,
    /// The priority or class.
    pub priority: u32,
}

/// Indexes of [`Tables::frame`]: the IP version and the place in a datagram, or what is no IP packet.
pub mod frame {
    /// IPv4, whole; the first and later fragments follow.
    pub const IPV4: u8 = 0;
    /// IPv6, whole or atomic; the first and later fragments follow.
    pub const IPV6: u8 = 3;
    /// ARP.
    pub const ARP: u8 = 6;
    /// Link control: to 01:80:c2:00:00:00 to 0f, and no IP packet.
    pub const LINK_CONTROL: u8 = 7;
    /// Anything else, or unknown.
    pub const OTHER: u8 = 8;
    /// Number of indexes, a power of two.
    pub const COUNT: usize = 16;
}

/// The read-only global `TABLES` of a program instance. The verifier knows the scalars in it as
/// constants (the map is frozen before the load) and removes the code of fields that no rule reads.
#[repr(C)]
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct Tables {
    /// Which fields the rules read: [`Field::bit`].
    pub fields: u32,
    /// [`crate::ABI_VERSION`] of whoever filled this.
    pub abi_version: u32,
    /// 1: some rule marks.
    pub marks: u32,
    /// The first entry of source address classes: class c has entry `source_classes + c`.
    pub source_classes: u32,
    /// Likewise of destination address classes.
    pub destination_classes: u32,
    /// By field, the summary of `wild`.
    pub wild_summary: [u32; FIELDS],
    /// Entry of lengths above 65535.
    pub length_beyond: u32,
    /// Words in use; 0: all of them. The fewer, the less the verifier has to do.
    pub words: u32,
    /// By field: the rules that do not read it.
    pub wild: [[u64; WORDS]; FIELDS],
    /// By index of [`frame`].
    pub frame: [u16; frame::COUNT],
    /// By protocol number.
    pub protocol: [u16; 256],
    /// By TCP flags byte.
    pub tcp_flags: [u16; 256],
    /// By VLAN id.
    pub vlan: [u16; 4096],
    /// By [`Side`], by list of address sets: the rules that ask for the list.
    pub lists: [[Entry; crate::prefixes::MAX_LISTS]; SIDES],
    /// By source port.
    pub source_port: Runs,
    /// By destination port.
    pub destination_port: Runs,
    /// By type and code: `type << 8 | code`.
    pub icmp: Runs,
    /// By length up to 65535.
    pub length: Runs,
    /// The number of each bit's rule. Bits of rules that read the same fields stand together, in order of their numbers: so
    /// a word that no packet's values agree on is seen by its summary.
    pub order: [u16; MAX_BITS],
    /// Rules by number, in the order of evaluation.
    pub rules: [Rule; MAX_BITS],
    /// Rates.
    pub limits: [Limit; MAX_PARAMETERS],
    /// Marks.
    pub markings: [Marking; MAX_PARAMETERS],
    /// All entries.
    pub entries: [Entry; MAX_ENTRIES],
    /// Words of all entries. Word 0 is 0: it stands for every word without bits.
    pub extra: [u64; MAX_EXTRA],
}

const _: () = assert!(size_of::<Runs>() == 8192 + 2048 + MAX_RUNS * 2);
const _: () = assert!(size_of::<Rule>() == 12);
const _: () = assert!(size_of::<Limit>() == 32);
const _: () = assert!(size_of::<Marking>() == 12);
const _: () = assert!(
    size_of::<Tables>()
        == 24
            + FIELDS * 4
            + 4
            + 4
            + FIELDS * WORDS * 8
            + frame::COUNT * 2
            + 512 * 2
            + 4096 * 2
            + SIDES * 64 * 8
            + 4 * size_of::<Runs>()
            + MAX_BITS * 14
            + MAX_PARAMETERS * 44
            + MAX_ENTRIES * 8
            + MAX_EXTRA * 8
);

impl Runs {
    /// One run, of entry 0.
    pub const EMPTY: Self = Self { starts: [0; 1024], before: [0; 1024], entry: [0; MAX_RUNS] };
}

impl Entry {
    /// Adds nothing.
    pub const NONE: Self = Self { summary: 0, offset: 0 };
}

impl Tables {
    /// Tables without a rule: every packet passes.
    #[allow(clippy::large_stack_arrays, reason = "a constant, of which users make statics and boxes")]
    pub const EMPTY: Self = Self {
        fields: 0,
        abi_version: crate::ABI_VERSION,
        marks: 0,
        source_classes: 0,
        destination_classes: 0,
        wild_summary: [0; FIELDS],
        length_beyond: 0,
        words: 0,
        wild: [[0; WORDS]; FIELDS],
        frame: [0; frame::COUNT],
        protocol: [0; 256],
        tcp_flags: [0; 256],
        vlan: [0; 4096],
        lists: [[Entry::NONE; crate::prefixes::MAX_LISTS]; SIDES],
        source_port: Runs::EMPTY,
        destination_port: Runs::EMPTY,
        icmp: Runs::EMPTY,
        length: Runs::EMPTY,
        order: [0; MAX_BITS],
        rules: [Rule {
            action: 0,
            outcome: 0,
            flags: 0,
            padding: 0,
            slot: 0,
            next: 0,
            policy_end: 0,
            parameter: 0,
        }; MAX_BITS],
        limits: [Limit {
            multiplier: 0,
            burst: 0,
            horizon: 0,
            shift: 0,
            bits: 0,
            per_source: 0,
            prefix_v4: 0,
            prefix_v6: 0,
            padding: 0,
            exceeded_slot: 0,
        }; MAX_PARAMETERS],
        markings: [Marking { given: 0, mark: 0, priority: 0 }; MAX_PARAMETERS],
        entries: [Entry::NONE; MAX_ENTRIES],
        extra: [0; MAX_EXTRA],
    };
}

// SAFETY: repr(C), only integers, no padding (the size is asserted above).
#[cfg(feature = "user")]
unsafe impl aya::Pod for Tables {}
