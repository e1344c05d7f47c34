//! The programs that only tests and benches load, from the same build as the product's own. Nothing in
//! the product refers to them, so no binary carries them.

/// Parses a frame as the product does and stores what it found in the array `PARSED`.
pub static PARSE_PROBE: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/parse-probe"));

/// Counts and drops: the baseline for the product's speed.
pub static COUNT_AND_DROP: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/count-and-drop"));

/// Writes metadata as its globals say (`mark_probe`, XDP), and notes what packets carry (`watch_marks`, TC).
pub static MARK_PROBE: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/mark-probe"));
