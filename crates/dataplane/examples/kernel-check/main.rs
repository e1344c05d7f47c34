//! Asks the kernel that it runs on whether it takes the eBPF programs, and says so in one line a check.
//! `cargo xtask kernels` runs it in guests. `--list` names the checks and runs none; it never skips one.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

mod attaching;
mod loading;
mod tables;
mod verdicts;

use std::{any::Any, env, panic, process::ExitCode};

/// One question to the kernel; what it returns is a note for the reader, or empty.
type Check = (&'static str, fn() -> anyhow::Result<String>);

/// Every check. A new program, kind of tables or hook gets its line here.
const CHECKS: [Check; 9] = [
    ("load/empty", || loading::instance(&tables::empty())),
    ("load/ordinary", || loading::instance(&tables::ordinary())),
    ("load/everything", || loading::instance(&tables::everything())),
    ("load/parse-probe", || loading::object(sluice_dataplane::test_programs::PARSE_PROBE)),
    ("load/count-and-drop", || loading::object(sluice_dataplane::test_programs::COUNT_AND_DROP)),
    ("run/ordinary", || verdicts::follow(&tables::ordinary(), &verdicts::ORDINARY)),
    ("run/everything", || verdicts::follow(&tables::everything(), &verdicts::EVERYTHING)),
    ("attach/native", || attaching::drops(sluice_dataplane::AttachMode::Native)),
    ("attach/generic", || attaching::drops(sluice_dataplane::AttachMode::Generic)),
];

/// The verifier's reason is at the end of its log.
const LAST_LINES: usize = 8;

fn main() -> ExitCode {
    if env::args().any(|argument| argument == "--list") {
        for (name, _) in CHECKS {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    }
    let failed = CHECKS.iter().filter(|check| !report(check)).count();
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report((name, check): &Check) -> bool {
    // A helper of the tests panics where it gives up; the other checks shall still be made.
    let result = panic::catch_unwind(check).unwrap_or_else(|panic| Err(anyhow::anyhow!(message(&*panic))));
    match result {
        Ok(note) if note.is_empty() => println!("ok {name}"),
        Ok(note) => println!("ok {name}: {note}"),
        Err(error) => {
            println!("FAIL {name}: {}", last_lines(&in_full(&error)));
            return false;
        }
    }
    true
}

/// The error and its causes, without those that its own words contain.
fn in_full(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned()
}

/// The first line says what was tried, the last ones why it failed; continued lines are indented.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LAST_LINES).max(1);
    let kept = lines.iter().take(1).chain(lines.get(from..).unwrap_or_default());
    kept.copied().collect::<Vec<_>>().join("\n    ")
}
