//! Reads keys on a thread of its own: reading blocks, and no timer is needed that way.

use std::thread;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

/// What a key or a change of the terminal's size asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    Redraw,
}

/// Starts the thread. It ends with the process, or when nobody listens any more.
pub fn read() -> mpsc::Receiver<Key> {
    let (sender, receiver) = mpsc::channel(8);
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            if let Some(key) = meaning(&event)
                && sender.blocking_send(key).is_err()
            {
                return;
            }
        }
    });
    receiver
}

fn meaning(event: &Event) -> Option<Key> {
    match event {
        Event::Resize(..) => Some(Key::Redraw),
        Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }) => None,
        Event::Key(KeyEvent { code: KeyCode::Char('q' | 'Q') | KeyCode::Esc, .. }) => Some(Key::Quit),
        // The terminal is in raw mode: Ctrl-C comes as a key, not as a signal.
        Event::Key(KeyEvent { code: KeyCode::Char('c' | 'd'), modifiers, .. })
            if modifiers.contains(KeyModifiers::CONTROL) =>
        {
            Some(Key::Quit)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn keys_mean_what_people_expect() {
        let key = |code, modifiers| meaning(&Event::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(key(KeyCode::Char('q'), KeyModifiers::NONE), Some(Key::Quit));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Quit));
        assert_eq!(key(KeyCode::Esc, KeyModifiers::NONE), Some(Key::Quit));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::NONE), None);
        assert_eq!(meaning(&Event::Resize(80, 24)), Some(Key::Redraw));
    }
}
