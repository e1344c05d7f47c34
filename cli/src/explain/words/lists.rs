//! Lists of alternatives, short enough to be read.

use std::fmt::Display;

/// So many are named; more are only counted. JSON has all.
const NAMED: usize = 6;

/// `9 or 100-200 or 3 more`.
pub fn any_of<T: Display>(values: &[T]) -> String {
    let named = if values.len() == NAMED + 1 { values.len() } else { NAMED };
    let mut words: Vec<String> = values.iter().take(named).map(ToString::to_string).collect();
    if values.len() > named {
        words.push(format!("{} more", values.len() - named));
    }
    words.join(" or ")
}
