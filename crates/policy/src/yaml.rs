//! YAML text to values. It reads what strangers wrote: the number of nodes, the depth and what
//! aliases may unfold to are bounded, and a key that is there twice is an error.

use serde_json::Value;
use serde_saphyr::{Error, Options, UserMessageFormatter, budget, options};

/// Deeper than any document of ours; JSON values are walked by recursion.
const MAX_DEPTH: usize = 64;
/// Values in a file, and values that aliases may repeat. A full policy has some thousand.
const MAX_NODES: usize = 100_000;

/// The documents of a YAML stream, empty ones left out. The error says where and what, in one line.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, String> {
    let documents = serde_saphyr::from_multiple_with_options(text, limits());
    documents.map_err(|error| in_one_line(&error))
}

fn in_one_line(error: &Error) -> String {
    let words = error.without_snippet().render_with_formatter(&UserMessageFormatter);
    words.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

/// Numbers that YAML 1.1 and 1.2 read differently (`010`, `1_000`) stay text, and so are refused
/// where a number is wanted, in words, rather than taken for another number than was meant.
fn limits() -> Options {
    options! {
        budget: budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 4 * MAX_NODES,
            max_documents: 1024,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_NODES },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    }
}
