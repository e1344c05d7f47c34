//! The table of kernels and checks, every failure by name, and the true sum. What was expected and not
//! answered has failed.

use std::fmt;

use comfy_table::{Table, presets};

use super::answers::{Answer, Answers};
use super::programs::{KERNEL_CHECK, Program};

/// One kernel: what its guest answered, or why it was not asked.
pub struct Column {
    series: &'static str,
    version: String,
    answers: Result<Answers, String>,
}

impl Column {
    /// A kernel that ran.
    pub fn answered(series: &'static str, version: String, answers: Answers) -> Self {
        Self { series, version, answers: Ok(answers) }
    }

    /// A kernel that is not to be had.
    pub fn skipped(series: &'static str, reason: String) -> Self {
        Self { series, version: String::new(), answers: Err(reason) }
    }

    fn title(&self) -> String {
        format!("Linux {}", if self.version.is_empty() { self.series } else { &self.version })
    }
}

/// A kernel that refuses one program refuses most checks, for the same reason.
const MAX_REASONS: usize = 3;

/// Everything, ready to be printed.
#[derive(Default)]
pub struct Summary {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    table: Table,
    remarks: Vec<String>,
}

impl Summary {
    /// Holds the answers against what `programs` must say.
    pub fn of(programs: &[Program], columns: &[Column]) -> Self {
        let mut summary = Self::default();
        summary.table.load_style(presets::NOTHING);
        let titles = columns.iter().map(Column::title);
        summary.table.set_header(["CHECK".to_owned()].into_iter().chain(titles));
        for column in columns {
            summary.remark_on(column);
        }
        for program in programs {
            // Test programs have too many checks for a row each.
            let rows: Vec<(String, &[String])> = if program.name == KERNEL_CHECK {
                program.checks.chunks(1).map(|check| (check.concat(), check)).collect()
            } else {
                vec![(format!("tests of {}", program.name), &program.checks)]
            };
            summary.remarks.extend(columns.iter().flat_map(|column| reasons(column, program)));
            for (label, checks) in rows {
                let cells = columns.iter().map(|column| summary.cell(column, &program.name, checks));
                let cells: Vec<String> = [label].into_iter().chain(cells).collect();
                summary.table.add_row(cells);
            }
        }
        summary
    }

    fn remark_on(&mut self, column: &Column) {
        match &column.answers {
            Err(reason) => self.remarks.push(format!("SKIPPED {}: {reason}", column.title())),
            Ok(Answers { trouble: Some(trouble), .. }) => {
                self.failed += 1;
                self.remarks.push(format!("FAIL {}: {trouble}", column.title()));
            }
            Ok(_) => {}
        }
    }

    fn cell(&mut self, column: &Column, program: &str, checks: &[String]) -> String {
        let Ok(answers) = &column.answers else {
            self.skipped += checks.len();
            return "skipped".to_owned();
        };
        let passed: Vec<&str> = checks
            .iter()
            .filter_map(|check| match answers.get(program, check) {
                Some(Answer::Passed(note)) => Some(note.as_str()),
                _ => None,
            })
            .collect();
        self.passed += passed.len();
        self.failed += checks.len() - passed.len();
        match (checks.len(), passed[..].first()) {
            (1, None) => "FAILED".to_owned(),
            (1, Some(&"")) => "ok".to_owned(),
            (1, Some(note)) => (*note).to_owned(),
            (all, _) if passed.len() == all => format!("{all} ok"),
            (all, _) => format!("{} of {all} FAILED", all - passed.len()),
        }
    }
}

/// Each check of `program` that failed, the first ones with their reason.
fn reasons(column: &Column, program: &Program) -> Vec<String> {
    let Ok(answers) = &column.answers else { return Vec::new() };
    let failed = program.checks.iter().filter_map(|check| match answers.get(&program.name, check) {
        Some(Answer::Passed(_)) => None,
        Some(Answer::Failed(reason)) => Some((check, reason.as_str())),
        None => Some((check, "no answer")),
    });
    let line = |(number, (check, reason)): (usize, (&String, &str))| {
        let first = reason.lines().next().unwrap_or_default();
        let reason = if number < MAX_REASONS { reason } else { &first[..first.floor_char_boundary(100)] };
        format!("FAIL {}, {} {check}: {reason}", column.title(), program.name)
    };
    failed.enumerate().map(line).collect()
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.table.lines() {
            writeln!(formatter, "{}", line.trim_end())?;
        }
        for remark in &self.remarks {
            writeln!(formatter, "{remark}")?;
        }
        writeln!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Column, Summary};
    use crate::kernels::answers::Answers;
    use crate::kernels::programs::Program;

    #[test]
    fn what_was_not_answered_has_failed() {
        let program = |name: &str, checks: &[&str]| Program {
            name: name.to_owned(),
            file: PathBuf::new(),
            checks: checks.iter().map(|check| (*check).to_owned()).collect(),
        };
        let programs =
            [program("kernel-check", &["load/empty", "attach/native"]), program("packets", &["a", "b"])];
        let whole = "guest: begin kernel-check\nok load/empty: 12 instructions, 3 ms\nok attach/native\n\
            guest: end kernel-check\nguest: begin packets\ntest a ... ok\ntest b ... ok\nguest: done\n";
        let broken = "guest: begin kernel-check\nok load/empty\nFAIL attach/native: errno 95\n    because\n\
            guest: end kernel-check\nguest: begin packets\ntest a ... ok\nguest: done\n";
        let columns = [
            Column::answered("6.1", "6.1.176-1".to_owned(), Answers::read(whole)),
            Column::answered("6.12", "6.12.95-1".to_owned(), Answers::read(broken)),
            Column::skipped("6.18", "the package mirror has none".to_owned()),
        ];
        let summary = Summary::of(&programs, &columns);
        assert_eq!((summary.passed, summary.failed, summary.skipped), (6, 2, 4));
        insta::assert_snapshot!(summary.to_string());
    }

    #[test]
    fn a_guest_in_trouble_fails_though_every_check_passed() {
        let columns = [Column::answered("6.1", "6.1.176-1".to_owned(), Answers::read("Kernel panic\n"))];
        assert_eq!(Summary::of(&[], &columns).failed, 1);
    }
}
