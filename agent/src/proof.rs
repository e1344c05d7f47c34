//! Whether an attached program was seen to run. Some drivers say that a program is attached and never
//! call it, so the only proof is that its counter moves; and if the interface receives packets while the
//! counter stands still, that is proof of the contrary. Pure: the caller reads the counters and the clock.

use std::time::Duration;

/// When to look, each time after the last look. After the last one only events and questions make us
/// look, so that an idle agent sleeps.
const SCHEDULE: [Duration; 8] = [
    Duration::from_millis(20),
    Duration::from_millis(80),
    Duration::from_millis(400),
    Duration::from_millis(1500),
    Duration::from_secs(3),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(40),
];
/// Looks in a row with received packets and no run before we say `Bypassed`. A single one may be
/// packets that were under way when the program was attached, or a driver that reports its counters late.
const LOOKS_WITHOUT_RUN: u32 = 2;

/// What is known of a program's running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// It ran.
    Yes,
    /// Nothing was received, so nothing is known.
    NoTraffic,
    /// Packets were received and it did not run.
    Bypassed,
}

impl Verified {
    /// As status shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "Verified",
            Self::NoTraffic => "Unverified (no traffic yet)",
            Self::Bypassed => "Bypassed",
        }
    }
}

/// The proof for one attachment.
#[derive(Clone, Debug)]
pub struct Proof {
    verified: Verified,
    seen: u64,
    /// What the interface had received at the last look; `None` before the first.
    received: Option<u64>,
    without_run: u32,
    looks: usize,
    open: bool,
}

impl Proof {
    /// Starts when the program had seen `seen` packets.
    pub fn start(seen: u64) -> Self {
        Self { verified: Verified::NoTraffic, seen, received: None, without_run: 0, looks: 0, open: true }
    }

    /// Something happened that may have left the program out: look again. What was proven holds until
    /// there is evidence against it.
    pub fn doubt(&mut self) {
        (self.received, self.without_run, self.looks, self.open) = (None, 0, 0, true);
    }

    /// Something happened after which some drivers do leave the program out: what was proven holds no more.
    pub fn reopen(&mut self) {
        self.doubt();
        self.verified = Verified::NoTraffic;
    }

    /// Takes in a later reading. `received` must have been read before `seen`.
    pub fn look(&mut self, seen: u64, received: u64) {
        self.looks += 1;
        if seen > self.seen {
            self.verified = Verified::Yes;
            self.without_run = 0;
            self.open = false;
        } else if self.received.is_some_and(|before| received > before) {
            self.without_run += 1;
            if self.without_run >= LOOKS_WITHOUT_RUN {
                self.verified = Verified::Bypassed;
            }
        }
        self.seen = seen;
        self.received = Some(received);
    }

    /// What is known so far.
    pub fn verified(&self) -> Verified {
        self.verified
    }

    /// How long to wait before the next look; `None` if it is proven or we have looked long enough.
    pub fn next_look(&self) -> Option<Duration> {
        self.open.then(|| SCHEDULE.get(self.looks).copied()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_proof_and_ends_the_looking() {
        let mut proof = Proof::start(5);
        proof.look(6, 101);
        assert_eq!((proof.verified(), proof.next_look()), (Verified::Yes, None));
    }

    #[test]
    fn silence_proves_nothing_and_the_looking_ends() {
        let mut proof = Proof::start(5);
        let mut looks = 0;
        while proof.next_look().is_some() {
            proof.look(5, 100);
            looks += 1;
        }
        assert_eq!((proof.verified(), looks), (Verified::NoTraffic, SCHEDULE.len()));
    }

    #[test]
    fn packets_without_runs_are_a_bypass_only_when_seen_twice() {
        let mut proof = Proof::start(5);
        for (received, verified) in [
            (101, Verified::NoTraffic),
            (102, Verified::NoTraffic),
            (102, Verified::NoTraffic),
            (103, Verified::Bypassed),
        ] {
            proof.look(5, received);
            assert_eq!(proof.verified(), verified, "{received}");
        }
    }

    #[test]
    fn a_late_run_takes_the_bypass_back() {
        let mut proof = Proof::start(0);
        for received in 1..4 {
            proof.look(0, received);
        }
        assert_eq!(proof.verified(), Verified::Bypassed);
        proof.look(1, 4);
        assert_eq!(proof.verified(), Verified::Yes);
    }

    #[test]
    fn reopened_nothing_is_proven() {
        let mut proof = Proof::start(0);
        proof.look(1, 1);
        proof.reopen();
        assert_eq!(proof.verified(), Verified::NoTraffic);
    }

    #[test]
    fn a_doubt_asks_for_another_proof_and_takes_nothing_back_without_evidence() {
        let mut proof = Proof::start(0);
        proof.look(1, 1);
        proof.doubt();
        assert_eq!((proof.verified(), proof.next_look()), (Verified::Yes, Some(SCHEDULE[0])));
        for received in 2..5 {
            proof.look(1, received);
        }
        assert_eq!(proof.verified(), Verified::Bypassed);
    }
}
