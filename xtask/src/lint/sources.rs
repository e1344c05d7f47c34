//! The house rules that no other tool checks, file by file.

use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// A longer file says near its top why it is not split, with these words.
const MAX_LINES: usize = 400;
const EXCUSE: &str = "Longer than 400 lines because";

/// The only places where `unsafe` may be written: folders end with a slash.
const UNSAFE_ROOMS: [&str; 11] = [
    "crates/dataplane/src/address_sets/mapping.rs",
    "crates/dataplane/src/instance.rs",
    "crates/dataplane/src/links/ethtool.rs",
    "crates/dataplane/src/links/readable.rs",
    "crates/dataplane/src/rule_slots.rs",
    "crates/dataplane/src/sys.rs",
    "crates/dataplane/src/sys/maps.rs",
    "crates/ebpf-common/src/",
    "crates/testkit/src/feature.rs",
    "crates/testkit/src/packet_socket.rs",
    "ebpf/",
];

const PLACEHOLDERS: [&str; 3] = ["#[ignore", "todo!(", "unimplemented!("];

pub fn check() -> Result<()> {
    let mut wrong = Vec::new();
    for (name, text) in read()? {
        wrong.extend(problems(&name, &text).into_iter().map(|problem| format!("{name}: {problem}")));
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

/// Whether an example in the documentation would be run as a test.
pub fn have_doc_tests() -> Result<bool> {
    let fence = |line: &str| ["/// ```", "//! ```"].iter().any(|fence| line.trim() == *fence);
    Ok(read()?.iter().any(|(_, text)| text.lines().any(fence)))
}

/// Name and text of every source file.
fn read() -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    collect(Path::new("."), &mut files)?;
    files.sort();
    let read_one = |file: &PathBuf| {
        let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        Ok((file.strip_prefix(".").unwrap_or(file).display().to_string(), text))
    };
    files.iter().map(read_one).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let name = name.to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(&path, files)?;
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn problems(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES && !text.lines().take(20).any(|line| line.contains(EXCUSE)) {
        found.push(format!("{lines} lines: split it, or say at the top: {EXCUSE} ..."));
    }
    if !text.starts_with("//!") {
        found.push("the first line must say what the file is (//!)".to_owned());
    }
    let may_be_unsafe =
        UNSAFE_ROOMS.iter().any(|room| name == *room || (room.ends_with('/') && name.starts_with(room)));
    for (number, code) in (1..).zip(text.lines().map(code_of)) {
        if !may_be_unsafe && has_word(&code, "unsafe") {
            found.push(format!("line {number}: unsafe code outside the rooms of xtask/src/lint/sources.rs"));
        }
        if PLACEHOLDERS.iter().any(|placeholder| code.contains(placeholder)) {
            found.push(format!("line {number}: a placeholder or an ignored test"));
        }
    }
    if is_root(name) && !crate_may_be_unsafe(name) && !text.contains("#![forbid(unsafe_code)]") {
        found.push("the crate needs no unsafe code and must forbid it".to_owned());
    }
    found
}

/// Whether the file is the root of a library or a program.
fn is_root(name: &str) -> bool {
    ["src/lib.rs", "src/main.rs"].iter().any(|root| name.ends_with(root)) || name.contains("/src/bin/")
}

fn crate_may_be_unsafe(name: &str) -> bool {
    let folder = name.split_inclusive("/src/").next().unwrap_or(name).trim_end_matches("src/");
    UNSAFE_ROOMS.iter().any(|room| room.starts_with(folder))
}

/// A line without its comment and its strings; good enough for looking for a word.
fn code_of(line: &str) -> String {
    let code = line.split("//").next().unwrap_or_default();
    code.split('"').step_by(2).collect()
}

fn has_word(code: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(|c| !part_of_word(c)).any(|found| found == word)
}

#[cfg(test)]
mod tests {
    use super::problems;

    fn say(name: &str, text: &str) -> String {
        problems(name, text).join("; ")
    }

    #[test]
    fn a_clean_file_passes() {
        assert_eq!(say("agent/src/owner.rs", "//! What it is.\nfn f() {}\n"), "");
    }

    #[test]
    fn long_files_need_a_reason() {
        let long = format!("//! What it is.\n{}", "\n".repeat(400));
        assert!(say("agent/src/owner.rs", &long).contains("401 lines"));
        let excused = long.replace("is.", "is.\n//! Longer than 400 lines because reasons.");
        assert_eq!(say("agent/src/owner.rs", &excused), "");
    }

    #[test]
    fn unsafe_code_stays_in_its_rooms() {
        let text = "//! What it is.\nfn f() { unsafe { g() } }\n";
        assert!(say("agent/src/owner.rs", text).contains("line 2"));
        assert_eq!(say("crates/dataplane/src/sys.rs", text), "");
        let named = "//! What it is.\n// No unsafe.\n#![deny(unsafe_op_in_unsafe_fn)]\nf(\"unsafe\");\n";
        assert_eq!(say("agent/src/owner.rs", named), "");
    }

    #[test]
    fn roots_forbid_unsafe_code_where_none_is_needed() {
        for name in
            ["agent/src/main.rs", "crates/policy/src/lib.rs", "xtask/src/main.rs", "agent/src/bin/x.rs"]
        {
            assert!(say(name, "//! What it is.\n").contains("must forbid"), "{name}");
            assert_eq!(say(name, "//! What it is.\n#![forbid(unsafe_code)]\n"), "");
        }
        assert_eq!(say("crates/dataplane/src/lib.rs", "//! What it is.\n"), "");
        assert_eq!(say("ebpf/src/bin/sluice.rs", "//! What it is.\n"), "");
    }

    #[test]
    fn files_say_what_they_are_and_hold_no_placeholders() {
        assert!(say("cli/src/top.rs", "fn f() {}\n").contains("first line"));
        assert!(say("cli/src/top.rs", "//! What it is.\n#[ignore]\n").contains("line 2"));
    }
}
