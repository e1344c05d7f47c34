//! The layout that the XDP programs and user space share: rule tables, address tables, counters, and the codes of
//! verdicts and malformed reasons. It holds no logic beyond naming codes, and allocates nothing.
#![no_std]

mod buckets;
mod counters;
mod malformed;
mod metadata;
pub mod prefixes;
pub mod tables;

pub use buckets::{BUCKETS, SOURCES_CREATED, SourceKey};
pub use counters::{
    COUNTER_ELEMENTS, Counter, CounterElement, Counters, ELEMENT_SLOTS, EVENTS, Event, OUTCOMES, Outcome,
};
pub use malformed::{MALFORMED_REASONS, Malformed};
pub use metadata::{
    METADATA_FLAG_MARK, METADATA_FLAG_PRIORITY, METADATA_LENGTH, METADATA_MAGIC, METADATA_TYPE_MARK,
    METADATA_VERSION, Metadata,
};
pub use tables::{MAX_RULES, RULE_SLOTS, Tables};

/// Version of the layout below. Pinned maps of another version are never read: the agent makes
/// new ones.
pub const ABI_VERSION: u32 = 2;
