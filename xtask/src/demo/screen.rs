//! What the demo shows while it runs. On a terminal the last lines are a block that is drawn anew in
//! place; elsewhere there are only lines that stay. It takes no terminal mode that it had to give back.

use std::io::{IsTerminal as _, Write as _, stdout};

use anyhow::Result;
use rustix::termios::tcgetwinsize;

const UP: &str = "\x1b[A";
const ERASE_BELOW: &str = "\r\x1b[J";

/// Where the demo writes.
#[derive(Debug)]
pub struct Screen {
    terminal: bool,
    /// Lines of the block that is drawn now.
    drawn: usize,
}

impl Screen {
    /// Standard output.
    pub fn new() -> Self {
        Self { terminal: stdout().is_terminal(), drawn: 0 }
    }

    /// Writes lines that stay.
    pub fn say(&mut self, text: &str) -> Result<()> {
        let erase = self.erase();
        let mut out = stdout().lock();
        writeln!(out, "{erase}{text}")?;
        Ok(out.flush()?)
    }

    /// The same, in bold on a terminal.
    pub fn title(&mut self, text: &str) -> Result<()> {
        if self.terminal { self.say(&format!("\x1b[1m{text}\x1b[0m")) } else { self.say(text) }
    }

    /// The same, in green.
    pub fn good_news(&mut self, text: &str) -> Result<()> {
        if self.terminal { self.say(&format!("\x1b[1;32m{text}\x1b[0m")) } else { self.say(text) }
    }

    /// Draws the block in place of the one before.
    pub fn draw(&mut self, block: &str) -> Result<()> {
        if !self.terminal {
            return Ok(());
        }
        let width = tcgetwinsize(stdout()).map_or(80, |size| usize::from(size.ws_col)).max(1);
        let erase = self.erase();
        let mut out = stdout().lock();
        write!(out, "{erase}")?;
        for line in block.lines() {
            // A line that the terminal wraps would be two, and the block would be erased in part only.
            writeln!(out, "{}", cut(line, width))?;
        }
        self.drawn = block.lines().count();
        Ok(out.flush()?)
    }

    /// Takes the block away.
    pub fn clear(&mut self) -> Result<()> {
        let erase = self.erase();
        let mut out = stdout().lock();
        write!(out, "{erase}")?;
        Ok(out.flush()?)
    }

    fn erase(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("{}{ERASE_BELOW}", UP.repeat(lines)),
        }
    }
}

fn cut(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

/// How much of a step is done.
pub fn bar(done: f64) -> String {
    const CELLS: usize = 24;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let full = ((done.clamp(0.0, 1.0) * CELLS as f64).round() as usize).min(CELLS);
    format!("{}{}", "█".repeat(full), "░".repeat(CELLS - full))
}

#[cfg(test)]
mod tests {
    use super::{bar, cut};

    #[test]
    fn bars_have_one_length() {
        for done in [-1.0, 0.0, 0.5, 1.0, 7.0] {
            assert_eq!(bar(done).chars().count(), 24, "{done}");
        }
        assert!(bar(0.5).starts_with("████████████░"));
    }

    #[test]
    fn lines_are_cut_by_characters() {
        assert_eq!(cut("░░░░", 2), "░░");
        assert_eq!(cut("short", 80), "short");
    }
}
