//! When to report a burst of events: soon after the last one, but never later than a bound after the first.
//!
//! Holds no clock and waits for nothing.

use std::time::{Duration, Instant};

/// Gathers events and says when they are due.
#[derive(Debug)]
pub struct Burst {
    quiet: Duration,
    limit: Duration,
    spacing: Duration,
    pending: Option<Pending>,
    reported: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    first: Instant,
    last: Instant,
    urgent: bool,
}

impl Burst {
    /// Due `quiet` after the last event, at most `limit` after the first. Reports of nothing urgent come no
    /// closer together than `spacing`.
    #[must_use]
    pub fn new(quiet: Duration, limit: Duration, spacing: Duration) -> Self {
        Self { quiet, limit, spacing, pending: None, reported: None }
    }

    /// An event that should be reported soon.
    pub fn urgent(&mut self, now: Instant) {
        self.add(now, true);
    }

    /// An event that can wait its turn.
    pub fn ordinary(&mut self, now: Instant) {
        self.add(now, false);
    }

    fn add(&mut self, now: Instant, urgent: bool) {
        let pending = self.pending.get_or_insert(Pending { first: now, last: now, urgent });
        pending.last = now;
        pending.urgent |= urgent;
    }

    /// When the events so far have to be reported. `None`: there are none.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let pending = self.pending?;
        let due = (pending.last + self.quiet).min(pending.first + self.limit);
        let earliest =
            self.reported.filter(|_| !pending.urgent).map_or(due, |reported| reported + self.spacing);
        Some(due.max(earliest))
    }

    /// Whether to report now; if so, the burst is over.
    pub fn take(&mut self, now: Instant) -> bool {
        let due = self.due().is_some_and(|due| due <= now);
        if due {
            self.pending = None;
            self.reported = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn burst() -> (Burst, Instant) {
        (Burst::new(ms(5), ms(50), ms(200)), Instant::now())
    }

    #[test]
    fn nothing_is_due_without_an_event() {
        let (mut burst, start) = burst();
        assert_eq!(burst.due(), None);
        assert!(!burst.take(start + ms(1000)));
    }

    #[test]
    fn one_event_is_reported_once_after_the_quiet_time() {
        let (mut burst, start) = burst();
        burst.urgent(start);
        assert!(!burst.take(start + ms(4)));
        assert!(burst.take(start + ms(5)));
        assert!(!burst.take(start + ms(1000)));
    }

    #[test]
    fn a_stream_without_a_pause_is_reported_at_the_limit() {
        let (mut burst, start) = burst();
        let mut reports = Vec::new();
        for at in 0..200 {
            burst.urgent(start + ms(at));
            if burst.take(start + ms(at)) {
                reports.push(at);
            }
        }
        assert_eq!(reports, [50, 101, 152]);
    }

    #[test]
    fn ordinary_reports_keep_their_distance_and_urgent_ones_do_not() {
        let (mut burst, start) = burst();
        burst.ordinary(start);
        assert!(burst.take(start + ms(5)), "the first comes at once");
        burst.ordinary(start + ms(20));
        assert_eq!(burst.due(), Some(start + ms(205)));
        burst.urgent(start + ms(30));
        assert_eq!(burst.due(), Some(start + ms(35)));
    }
}
