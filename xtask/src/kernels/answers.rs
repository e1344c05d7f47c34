//! What a guest said on its console: the answer to each check, and whether it came to its end.

use std::collections::BTreeMap;

use super::programs::KERNEL_CHECK;

const LAST_LINES: usize = 15;

/// An answer; the text is a note or the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Passed(String),
    Failed(String),
}

/// The answers of one guest.
#[derive(Debug, Default)]
pub struct Answers {
    /// By program and check.
    answers: BTreeMap<(String, String), Answer>,
    /// What is wrong with the guest itself, with its last lines.
    pub trouble: Option<String>,
}

impl Answers {
    /// Reads a console.
    pub fn read(console: &str) -> Self {
        let mut all = Self::default();
        for part in console.split("guest: begin ").skip(1) {
            let (program, said) = part.split_once('\n').unwrap_or((part, ""));
            let said = said.split("guest: end ").next().unwrap_or_default();
            let found = if program == KERNEL_CHECK { of_kernel_check(said) } else { of_tests(said) };
            all.answers
                .extend(found.into_iter().map(|(check, answer)| ((program.to_owned(), check), answer)));
        }
        all.trouble = trouble(console);
        all
    }

    /// `None` if the guest did not say.
    pub fn get(&self, program: &str, check: &str) -> Option<&Answer> {
        self.answers.get(&(program.to_owned(), check.to_owned()))
    }
}

fn trouble(console: &str) -> Option<String> {
    let missing = console.lines().find(|line| line.starts_with("guest: cannot"));
    if let Some(line) = missing {
        return Some(line.to_owned());
    }
    let ended = console.lines().any(|line| line == "guest: done");
    (!ended).then(|| {
        let lines: Vec<&str> = console.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
        format!("the guest did not come to its end:\n    {}", last.join("\n    "))
    })
}

/// `ok NAME`, `ok NAME: NOTE`, `FAIL NAME: REASON`; the lines of a reason that follow are indented.
fn of_kernel_check(said: &str) -> Vec<(String, Answer)> {
    let mut found: Vec<(String, Answer)> = Vec::new();
    for line in said.lines() {
        let split = |rest: &str| {
            let (name, text) = rest.split_once(": ").unwrap_or((rest, ""));
            (name.to_owned(), text.to_owned())
        };
        if let Some(rest) = line.strip_prefix("ok ") {
            let (name, note) = split(rest);
            found.push((name, Answer::Passed(note)));
        } else if let Some(rest) = line.strip_prefix("FAIL ") {
            let (name, reason) = split(rest);
            found.push((name, Answer::Failed(reason)));
        } else if let (true, Some((_, Answer::Failed(reason)))) = (line.starts_with("    "), found.last_mut())
        {
            reason.push('\n');
            reason.push_str(line);
        }
    }
    found
}

/// `test NAME ... ok`; reasons follow in a block for each failed test.
fn of_tests(said: &str) -> Vec<(String, Answer)> {
    let answer = |line: &str| {
        let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
        let name = name.trim_end_matches(" - should panic").to_owned();
        match outcome {
            "ok" => Some((name, Answer::Passed(String::new()))),
            "FAILED" => {
                let reason = reason(said, &name);
                Some((name, Answer::Failed(reason)))
            }
            _ => None,
        }
    };
    said.lines().filter_map(answer).collect()
}

fn reason(said: &str, name: &str) -> String {
    let block = said.split(&format!("---- {name} stdout ----\n")).nth(1).unwrap_or_default();
    let block = block.split("\n---- ").next().unwrap_or_default();
    let block = block.split("\nfailures:").next().unwrap_or_default();
    block.trim().replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use super::{Answer, Answers};

    const CONSOLE: &str = "SeaBIOS\nguest: Linux 6.1\nguest: begin kernel-check\nok load/empty: 12 instructions\n\
        ok plain\nFAIL load/x: load it\n    R1 invalid\n    processed 3 insns\nguest: end kernel-check\n\
        guest: begin packets\n\nrunning 2 tests\ntest a::b ... ok\ntest c - should panic ... ok\n\
        test d ... FAILED\n\nfailures:\n\n---- d stdout ----\nthread 'd' panicked\nno\n\n\nfailures:\n    d\n\n\
        test result: FAILED. 2 passed\nguest: end packets\nguest: done\n";

    #[test]
    fn every_answer_is_read() {
        let answers = Answers::read(CONSOLE);
        let passed = |note: &str| Some(Answer::Passed(note.to_owned()));
        let failed = |reason: &str| Some(Answer::Failed(reason.to_owned()));
        assert_eq!(answers.get("kernel-check", "load/empty").cloned(), passed("12 instructions"));
        assert_eq!(answers.get("kernel-check", "plain").cloned(), passed(""));
        let reason = failed("load it\n    R1 invalid\n    processed 3 insns");
        assert_eq!(answers.get("kernel-check", "load/x").cloned(), reason);
        assert_eq!(answers.get("packets", "a::b").cloned(), passed(""));
        assert_eq!(answers.get("packets", "c").cloned(), passed(""));
        assert_eq!(answers.get("packets", "d").cloned(), failed("thread 'd' panicked\n    no"));
        assert_eq!(answers.get("packets", "e"), None);
        assert_eq!(answers.trouble, None);
    }

    #[test]
    fn a_guest_that_dies_or_lacks_a_module_is_in_trouble() {
        let died = Answers::read("guest: Linux 6.1\nguest: begin packets\ntest a ... ok\nKernel panic\n");
        assert!(died.trouble.is_some_and(|trouble| trouble.contains("Kernel panic")));
        assert_eq!(died.answers.len(), 1);
        let lacking = Answers::read("guest: cannot load the module veth.ko\nguest: done\n");
        assert!(lacking.trouble.is_some_and(|trouble| trouble.contains("veth.ko")));
    }
}
