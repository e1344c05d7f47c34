//! Waiting for a condition. It never sleeps longer than a poll interval and never gives up silently.

use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Polls `condition` until it holds.
///
/// # Panics
/// After `deadline`, saying `what` was awaited.
pub fn wait_until(deadline: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < deadline, "waited {deadline:?} in vain until {what}");
        sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::wait_until;
    use std::time::Duration;

    #[test]
    fn returns_as_soon_as_the_condition_holds() {
        let mut polls = 0;
        wait_until(Duration::from_secs(10), "the third poll", || {
            polls += 1;
            polls == 3
        });
        assert_eq!(polls, 3);
    }

    #[test]
    #[should_panic(expected = "in vain until pigs fly")]
    fn panics_naming_what_was_awaited() {
        wait_until(Duration::from_millis(5), "pigs fly", || false);
    }
}
