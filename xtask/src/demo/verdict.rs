//! Whether the policy did its job. Each criterion says what it found, in words; pure.

use super::figures::{count, percent, whole};

/// What one mode gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Native or Generic, as asked for.
    pub mode: &'static str,
    /// The mode in which the kernel says the program runs.
    pub mode_in_force: String,
    /// Whether the program was seen to run.
    pub verified: String,
    /// Flood packets that reached the stack before the policy was in force.
    pub reached_before: u64,
    /// Flood packets that reached the stack after it was in force, until the flood's end.
    pub reached_after: u64,
    /// Flood packets that the rule dropped.
    pub dropped: u64,
    /// Packets of any kind that the program dropped.
    pub dropped_in_all: u64,
    /// Flood packets that the device took, from the first to the last.
    pub sent: u64,
    /// Whether the flood was still dropped while no agent ran.
    pub dropped_without_agent: u64,
    /// What is left on the device and in the folder of pins after a cleanup, in words.
    pub left_behind: Vec<String>,
    /// Honest transactions a second without a flood.
    pub idle: f64,
    /// The same under the flood, without the policy.
    pub flooded: f64,
    /// The same under the flood, with the policy.
    pub protected: f64,
    /// The share of honest transactions that failed while the policy was in force.
    pub failed_share: f64,
}

/// Honest users must get back at least this share of what they had without a flood. Far below what is
/// usual, since the machine may be doing other things; far above what the flood leaves.
const SHARE: f64 = 0.1;
/// They must get this many times of what the flood leaves.
const GAIN: f64 = 3.0;
/// A flood that leaves more than this share did no harm, and there is no gain to be judged.
const HARMLESS: f64 = 0.5;
/// One honest transaction in so many may fail: a busy machine can lose a packet of any.
const FAILURES: f64 = 0.001;

/// Every criterion that is not met, in words. Empty: the policy did its job.
pub fn failures(outcome: &Outcome) -> Vec<String> {
    let mut failed = Vec::new();
    let mut must = |holds: bool, else_say: String| {
        if !holds {
            failed.push(format!("{}: {else_say}", outcome.mode));
        }
    };
    judge_mode(outcome, &mut must);
    judge_flood(outcome, &mut must);
    judge_honest(outcome, &mut must);
    must(
        outcome.left_behind.is_empty(),
        format!("after the cleanup there was still {}", outcome.left_behind.join(", ")),
    );
    failed
}

fn judge_mode(outcome: &Outcome, must: &mut impl FnMut(bool, String)) {
    let Outcome { mode, mode_in_force, verified, .. } = outcome;
    must(mode == mode_in_force, format!("the mode in force is \"{mode_in_force}\", asked for was {mode}"));
    must(verified == "Verified", format!("the agent has not proved that the program runs: \"{verified}\""));
}

fn judge_flood(outcome: &Outcome, must: &mut impl FnMut(bool, String)) {
    must(
        outcome.reached_before > 0,
        "the flood never reached the stack even without the policy, so nothing was shown".to_owned(),
    );
    must(
        outcome.reached_after == 0,
        format!(
            "{} flood packets reached the node's stack after the policy was in force",
            count(outcome.reached_after)
        ),
    );
    must(
        outcome.dropped == outcome.dropped_in_all,
        format!(
            "the rule counted {} drops and the program {}",
            count(outcome.dropped),
            count(outcome.dropped_in_all)
        ),
    );
    let accounted = outcome.reached_before + outcome.reached_after + outcome.dropped;
    must(
        accounted == outcome.sent,
        format!(
            "{} flood packets were sent, but {} are accounted for",
            count(outcome.sent),
            count(accounted)
        ),
    );
    must(
        outcome.dropped_without_agent > 0,
        "nothing was dropped any more when the agent had been killed".to_owned(),
    );
}

fn judge_honest(outcome: &Outcome, must: &mut impl FnMut(bool, String)) {
    let Outcome { idle, flooded, protected, .. } = *outcome;
    must(
        harmless(outcome) || protected >= GAIN * flooded,
        format!(
            "honest users got {} transactions a second with the policy, {} without",
            whole(protected),
            whole(flooded)
        ),
    );
    must(
        protected >= SHARE * idle,
        format!(
            "under the flood honest users got {} of what they have without a flood, less than {}",
            percent(protected, idle),
            percent(SHARE, 1.0)
        ),
    );
    must(
        outcome.failed_share <= FAILURES,
        format!(
            "{} of the honest transactions failed while the policy was in force",
            percent(outcome.failed_share, 1.0)
        ),
    );
}

/// Whether the flood took nothing from the honest users even without the policy.
pub fn harmless(outcome: &Outcome) -> bool {
    outcome.flooded > HARMLESS * outcome.idle
}

#[cfg(test)]
mod tests {
    use super::{Outcome, failures, harmless};

    fn good() -> Outcome {
        Outcome {
            mode: "Native",
            mode_in_force: "Native".into(),
            verified: "Verified".into(),
            reached_before: 3_000_000,
            reached_after: 0,
            dropped: 5_000_000,
            dropped_in_all: 5_000_000,
            sent: 8_000_000,
            dropped_without_agent: 400_000,
            left_behind: vec![],
            idle: 9_000.0,
            flooded: 400.0,
            protected: 8_000.0,
            failed_share: 0.0,
        }
    }

    #[test]
    fn a_policy_that_did_its_job() {
        assert_eq!(failures(&good()), Vec::<String>::new());
    }

    #[test]
    fn a_flood_that_does_no_harm_leaves_nothing_to_gain() {
        let outcome = Outcome { flooded: 8_500.0, ..good() };
        assert!(harmless(&outcome));
        assert_eq!(failures(&outcome), Vec::<String>::new());
    }

    #[test]
    fn each_failure_is_named() {
        let breaks: [fn(&mut Outcome); 12] = [
            |outcome| outcome.mode_in_force = "Generic".into(),
            |outcome| outcome.verified = "Bypassed".into(),
            |outcome| (outcome.reached_before, outcome.sent) = (0, 5_000_000),
            |outcome| (outcome.reached_after, outcome.sent) = (12, 8_000_012),
            |outcome| outcome.dropped_in_all += 1,
            |outcome| outcome.sent += 1,
            |outcome| outcome.dropped_without_agent = 0,
            |outcome| outcome.left_behind = vec!["a program on the device".into()],
            |outcome| outcome.flooded = 4_000.0,
            |outcome| (outcome.flooded, outcome.protected) = (0.0, 800.0),
            |outcome| outcome.failed_share = 0.03,
            |outcome| outcome.mode_in_force.clear(),
        ];
        let said: Vec<String> = breaks
            .iter()
            .map(|break_it| {
                let mut outcome = good();
                break_it(&mut outcome);
                let failed = failures(&outcome);
                assert_eq!(failed.len(), 1, "{failed:?}");
                failed[0].clone()
            })
            .collect();
        insta::assert_snapshot!(said.join("\n"));
    }
}
