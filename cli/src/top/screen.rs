//! The terminal while `top` holds it: raw mode and the alternate screen, both given back on drop
//! and, by the hook that entering installs, before the words of a panic.

use ratatui::{DefaultTerminal, Frame};

use crate::error::Error;

pub struct Screen(DefaultTerminal);

impl Screen {
    pub fn enter() -> Result<Self, Error> {
        ratatui::try_init().map(Self).map_err(|source| {
            // Raw mode may be on already when the second step fails.
            ratatui::restore();
            Error::Terminal { source }
        })
    }

    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<(), Error> {
        self.0.draw(draw).map(drop).map_err(|source| Error::Terminal { source })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
