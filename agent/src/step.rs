//! What to do next on an interface: a pure decision from what is observed, what is asked for, and what
//! the interface answered before.

use sluice_dataplane::AttachMode;
use sluice_policy::{LinkFacts, Mode, attach};

use crate::answers::Answer;

/// What runs on an interface, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Nothing of ours.
    Nothing,
    /// Our program, in this mode.
    Runs(AttachMode),
    /// Our link has an interface of this index, but the interface does not show our program.
    Hidden,
    /// Our link has lost its interface, or somebody has detached it.
    Detached,
}

/// What happened that made us look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Policies changed, or the agent has just started.
    Policies,
    /// Something about links changed; it need not be one of the facts that we see.
    Links,
    /// Time to try again what failed.
    Timer,
    /// What the node talks to changed: name servers, addresses, routes. Links did not.
    Facts,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The mode is right: swap the program if it is another one.
    Update,
    /// Attach in another mode than the one that runs.
    ChangeMode {
        /// The mode that runs.
        from: AttachMode,
        /// The mode to run.
        to: AttachMode,
    },
    /// Attach, since nothing of ours runs.
    Attach,
    /// Nothing runs, and asking again would give the same answer.
    Refused,
    /// What runs cannot be told from this reading.
    LookAgain,
}

/// Decides. `answer` is what came of the last attempt, if that is known; `tried` whether this process
/// made it.
pub fn next(
    observed: Observed,
    asked: Mode,
    answer: Option<&Answer>,
    tried: bool,
    facts: &LinkFacts,
    cause: Cause,
) -> Step {
    match observed {
        Observed::Hidden => Step::LookAgain,
        Observed::Detached => Step::Attach,
        Observed::Nothing => {
            let same = |answer: &Answer| !answer.attached && would_repeat(answer, asked, facts, cause);
            if tried && answer.is_some_and(same) { Step::Refused } else { Step::Attach }
        }
        Observed::Runs(mode) => match (asked, mode) {
            (Mode::Generic, AttachMode::Native) => change(mode, AttachMode::Generic),
            (Mode::Native, AttachMode::Generic) => change(mode, AttachMode::Native),
            (Mode::Auto, AttachMode::Generic) if wants_native(answer, facts) => {
                change(mode, AttachMode::Native)
            }
            _ => Step::Update,
        },
    }
}

fn change(from: AttachMode, to: AttachMode) -> Step {
    Step::ChangeMode { from, to }
}

/// A change of mode lets packets by for a moment, so under Auto it needs a reason: native was never asked
/// for, or the fact that stood in its way is another one. Where no answer is known, the state directory
/// was lost, and what runs goes on.
fn wants_native(answer: Option<&Answer>, facts: &LinkFacts) -> bool {
    answer.is_some_and(|answer| answer.asked == Mode::Generic || fact_changed(answer, facts))
}

fn fact_changed(answer: &Answer, facts: &LinkFacts) -> bool {
    if answer.reason == "DriverNoXdp" {
        let driver = |facts: &LinkFacts| (facts.driver.clone(), facts.xdp_features);
        return driver(&answer.facts) != driver(facts);
    }
    !answer.reason.is_empty() && attach::retry_native(&answer.facts, facts)
}

fn would_repeat(answer: &Answer, asked: Mode, facts: &LinkFacts, cause: Cause) -> bool {
    // Offloads, rings and the other end of a veth are no facts of ours: a change of links may be theirs.
    let hidden_cause = cause == Cause::Links && answer.reason != "DriverNoXdp";
    answer.asked == asked && answer.facts == *facts && !answer.transient && !hidden_cause
}

#[cfg(test)]
mod tests {
    use super::*;

    const NATIVE: Observed = Observed::Runs(AttachMode::Native);
    const GENERIC: Observed = Observed::Runs(AttachMode::Generic);
    const TO_NATIVE: Step = Step::ChangeMode { from: AttachMode::Generic, to: AttachMode::Native };
    const TO_GENERIC: Step = Step::ChangeMode { from: AttachMode::Native, to: AttachMode::Generic };

    fn answer(asked: Mode, reason: &str, attached: bool) -> Answer {
        let (message, remedy, transient) = (String::new(), None, false);
        let reason = reason.to_owned();
        Answer { asked, attached, reason, message, remedy, transient, facts: LinkFacts::default() }
    }

    fn decide(observed: Observed, asked: Mode, answer: Option<&Answer>) -> Step {
        next(observed, asked, answer, true, &LinkFacts::default(), Cause::Policies)
    }

    #[test]
    fn the_mode_that_runs_is_kept_where_it_fits() {
        for (observed, asked) in [(NATIVE, Mode::Auto), (NATIVE, Mode::Native), (GENERIC, Mode::Generic)] {
            assert_eq!(decide(observed, asked, None), Step::Update);
        }
    }

    #[test]
    fn a_mode_by_name_is_brought_about() {
        assert_eq!(decide(GENERIC, Mode::Native, None), TO_NATIVE);
        assert_eq!(decide(NATIVE, Mode::Generic, None), TO_GENERIC);
    }

    #[test]
    fn generic_under_auto_stays_unless_native_has_a_chance() {
        assert_eq!(decide(GENERIC, Mode::Auto, None), Step::Update, "the state directory was lost");
        let refused = answer(Mode::Auto, "MtuTooLarge", true);
        assert_eq!(decide(GENERIC, Mode::Auto, Some(&refused)), Step::Update);
        let by_name = answer(Mode::Generic, "", true);
        assert_eq!(decide(GENERIC, Mode::Auto, Some(&by_name)), TO_NATIVE);
    }

    #[test]
    fn native_is_tried_again_when_the_fact_in_its_way_has_changed() {
        let small = LinkFacts { mtu: 1400, ..LinkFacts::default() };
        let step = |reason| {
            let refused = answer(Mode::Auto, reason, true);
            next(GENERIC, Mode::Auto, Some(&refused), true, &small, Cause::Links)
        };
        assert_eq!(step("MtuTooLarge"), TO_NATIVE);
        assert_eq!(step("DriverNoXdp"), Step::Update, "the MTU has nothing to do with it");
    }

    #[test]
    fn what_was_lost_is_attached_again_whatever_native_answered() {
        let refused = answer(Mode::Auto, "DriverNoXdp", true);
        assert_eq!(decide(Observed::Detached, Mode::Auto, Some(&refused)), Step::Attach);
        assert_eq!(decide(Observed::Nothing, Mode::Auto, Some(&refused)), Step::Attach);
    }

    #[test]
    fn a_refusal_is_asked_again_only_when_the_answer_may_be_another() {
        let refused = answer(Mode::Native, "DriverNoXdp", false);
        let nothing = Observed::Nothing;
        assert_eq!(decide(nothing, Mode::Native, Some(&refused)), Step::Refused);
        assert_eq!(decide(nothing, Mode::Auto, Some(&refused)), Step::Attach, "more is asked for");
        let facts = LinkFacts::default();
        let again = next(nothing, Mode::Native, Some(&refused), false, &facts, Cause::Policies);
        assert_eq!(again, Step::Attach, "an earlier process asked");
        let mtu = answer(Mode::Native, "MtuTooLarge", false);
        let on = |cause| next(nothing, Mode::Native, Some(&mtu), true, &facts, cause);
        assert_eq!((on(Cause::Timer), on(Cause::Links)), (Step::Refused, Step::Attach));
    }

    #[test]
    fn what_cannot_be_told_is_looked_at_again() {
        assert_eq!(decide(Observed::Hidden, Mode::Native, None), Step::LookAgain);
    }
}
