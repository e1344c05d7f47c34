//! Writing to standard output and standard error, so that a closed pipe is an error, not a panic.

use std::{
    error::Error as StdError,
    io::{self, Write},
};

use crate::error::Error;

/// Prints a finished text.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|source| Error::Output { source })
}

/// Prints a value as indented JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Error> {
    let mut text = serde_json::to_string_pretty(value).map_err(|source| Error::Json { source })?;
    text.push('\n');
    print(&text)
}

/// Prints a value as one YAML document.
pub fn print_yaml(value: &impl serde::Serialize) -> Result<(), Error> {
    print(&yaml(value)?)
}

/// A value as YAML.
pub fn yaml(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_saphyr::to_string(value).map_err(|source| Error::Yaml { source })
}

/// Says on standard error what went wrong, why, and what to do next.
pub fn complain(error: &Error) {
    // There is nobody left to tell when standard error is closed.
    drop(io::stderr().lock().write_all(complaint(error).as_bytes()));
}

fn complaint(error: &Error) -> String {
    let mut text = format!("error: {error}\n");
    let mut last = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        // Some libraries repeat their cause's words in their own.
        if !last.ends_with(&words) {
            text.extend(["  because: ", &words, "\n"]);
        }
        last = words;
        cause = error.source();
    }
    if !error.remedy().is_empty() {
        text.extend(["  fix: ", error.remedy(), "\n"]);
    }
    text
}

/// Columns of the terminal that standard output goes to. `None`: it goes to a file or a pipe,
/// where each row must stay on one line.
pub fn terminal_width() -> Option<u16> {
    use std::io::IsTerminal;
    if !io::stdout().is_terminal() {
        return None;
    }
    ratatui::crossterm::terminal::size().ok().map(|(columns, _)| columns).filter(|columns| *columns > 0)
}

/// What others wrote (names of files, words out of a policy), without control characters: they
/// could drive the reader's terminal.
pub fn clean(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut clean, character| {
        if character.is_control() {
            clean.extend(character.escape_default());
        } else {
            clean.push(character);
        }
        clean
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn control_characters_are_spelt_out() {
        assert_eq!(clean("a\u{1b}[2Jb\nc\u{9b}ü"), "a\\u{1b}[2Jb\\nc\\u{9b}ü");
    }

    #[test]
    fn a_complaint_says_what_why_and_what_next() {
        let error = Error::Terminal { source: io::Error::other("the terminal is gone") };
        insta::assert_snapshot!(complaint(&error), @r"
        error: cannot draw on the terminal
          because: the terminal is gone
          fix: use `sluicectl status` instead
        ");
        insta::assert_snapshot!(complaint(&Error::NoTerminal), @r"
        error: top draws on a terminal, and there is none
          fix: run it in a terminal; for scripts use `sluicectl status -o json`, and over ssh `ssh -t`
        ");
    }
}
