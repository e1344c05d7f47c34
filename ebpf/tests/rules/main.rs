//! The bit vectors against the plainest reading of a rule list, and the counters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod list;

use list::{Action, List, Rule, lists};
use proptest::{option, prelude::*, sample::select};
use sluice_ebpf::{
    account::account,
    classify::{Match, classify, slot},
    flow::Flow,
};
use sluice_ebpf_common::{Counter, Counters, Malformed, Outcome, Tables};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn classify_agrees_with_reading_the_rules_in_order(list in lists(), flows in flows()) {
        let tables = list.tables();
        for flow in flows {
            let decision = list.decide(&flow);
            let expected = Match {
                terminal: decision.terminal.map_or(0, |rule| 1 << rule),
                counting: decision.counting.iter().map(|rule| 1 << rule).sum(),
            };
            prop_assert_eq!(classify(&tables, &flow), expected, "{:?}", flow);
        }
    }

    #[test]
    fn account_counts_one_outcome_and_each_rule_that_matched(list in lists(), flows in flows()) {
        let tables = list.tables();
        for flow in flows {
            let mut counters = Box::new(Counters::ZERO);
            let outcome = account(&tables, &flow, 60, &mut counters);
            let (expected, rules) = expected(&list, &flow);
            prop_assert_eq!(outcome, expected);
            prop_assert_eq!(counted(&counters.outcomes), vec![outcome as usize]);
            prop_assert_eq!(counted(&counters.rules), rules);
            prop_assert_eq!(
                counted(&counters.malformed),
                flow.malformed.map_or(vec![], |reason| vec![reason as usize])
            );
        }
    }
}

/// The outcome, and the counter slots of the rules that matched, in order.
fn expected(list: &List, flow: &Flow) -> (Outcome, Vec<usize>) {
    let decision = list.decide(flow);
    let outcome = match decision.terminal.map(|rule| list.rules[rule].action) {
        Some(Action::Drop) => Outcome::DropRule,
        Some(_) => Outcome::PassRule,
        None => Outcome::PassNoMatch,
    };
    let matched = decision.counting.into_iter().chain(decision.terminal);
    let mut slots: Vec<usize> = matched.map(|rule| usize::from(list.rules[rule].slot)).collect();
    slots.sort_unstable();
    (outcome, slots)
}

/// The slots that hold one frame of 60 bytes; any other that is not empty fails the test.
fn counted(counters: &[Counter]) -> Vec<usize> {
    let one = Counter { packets: 1, bytes: 60 };
    let (ones, rest): (Vec<_>, Vec<_>) = counters
        .iter()
        .enumerate()
        .filter(|(_, counter)| **counter != Counter::default())
        .partition(|(_, counter)| **counter == one);
    assert_eq!(rest, vec![]);
    ones.into_iter().map(|(slot, _)| slot).collect()
}

/// Flows near the edges of the rules: the same few protocols, ports around the same few bounds.
fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let port = prop_oneof![list::ports(), any::<u16>()];
    let malformed = select(Malformed::ALL);
    let flow = (option::weighted(0.9, list::protocols()), option::weighted(0.9, port), option::of(malformed))
        .prop_map(|(protocol, destination_port, malformed)| Flow {
            protocol,
            destination_port,
            malformed,
            ..Flow::UNKNOWN
        });
    proptest::collection::vec(flow, 1..40)
}

#[test]
fn without_rules_every_packet_passes_unmatched() {
    let mut counters = Box::new(Counters::ZERO);
    let flow = Flow { protocol: Some(17), destination_port: Some(9), ..Flow::UNKNOWN };
    assert_eq!(account(&Tables::EMPTY, &flow, 42, &mut counters), Outcome::PassNoMatch);
    assert_eq!(counters.packets(), 1);
}

#[test]
fn sixty_four_rules_are_all_reached() {
    let rule = |number: u16| Rule {
        protocol: Some(17),
        ports: vec![(number, number)],
        action: if number.is_multiple_of(2) { Action::Drop } else { Action::Pass },
        slot: 1023 - number,
    };
    let list = List { rules: (0..64).map(rule).collect() };
    let tables = list.tables();
    for number in 0..64 {
        let flow = Flow { protocol: Some(17), destination_port: Some(number), ..Flow::UNKNOWN };
        let found = classify(&tables, &flow);
        assert_eq!(found, Match { terminal: 1 << number, counting: 0 });
        assert_eq!(slot(&tables, found.terminal), usize::from(1023 - number));
    }
}

#[test]
fn sixty_four_counting_rules_are_all_counted() {
    let rule = |slot| Rule { protocol: None, ports: vec![], action: Action::Count, slot };
    let list = List { rules: (100..164).map(rule).collect() };
    let mut counters = Box::new(Counters::ZERO);
    assert_eq!(account(&list.tables(), &Flow::UNKNOWN, 60, &mut counters), Outcome::PassNoMatch);
    assert_eq!(counted(&counters.rules), (100..164).collect::<Vec<_>>());
}
