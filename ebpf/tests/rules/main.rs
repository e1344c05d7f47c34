//! The bit vectors and the walk against the plainest reading of policies, and the counters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../parser/bytes.rs"]
mod bytes;
#[path = "../common/mod.rs"]
mod common;
mod content;
mod flows;
#[path = "../parser/packet.rs"]
mod packet;
mod policies;
mod straight;
mod vectors;

use common::environment::Host;
use policies::{Policy, policies, rates, read, tables};
use proptest::{collection::vec, option, prelude::*, sample::select};
use sluice_ebpf::flow::Flow;
use sluice_ebpf_common::{Counter, Event, MAX_RULES, Malformed, Outcome, Tables};
use sluice_testkit::rules::{Action, Rule, compile};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_walk_agrees_with_reading_the_policies_in_order(policies in policies(), keys in vec(any::<u16>(), 1..200), flows in flows()) {
        let tables = tables(&policies, &keys);
        for flow in flows {
            agrees(&policies, &tables, &flow)?;
        }
    }
}

fn agrees(policies: &[Policy], tables: &Tables, flow: &Flow) -> Result<(), TestCaseError> {
    let mut host = Host::new(tables);
    host.rates = rates(policies);
    let (outcome, end) = host.judge(flow, 60);
    let expected = read(policies, flow);
    let counters = host.counters();
    prop_assert_eq!(outcome, expected.outcome);
    prop_assert_eq!(counted(&counters.outcomes), vec![outcome as usize]);
    prop_assert_eq!(counted(&counters.rules), expected.counted);
    let malformed = flow.malformed.map_or(vec![], |reason| vec![reason as usize]);
    prop_assert_eq!(counted(&counters.malformed), malformed);
    prop_assert_eq!(counters.events[Event::DryRunDrop as usize].packets, expected.dry_run_drops);
    prop_assert_eq!(counters.events[Event::SourceTableFailed as usize].packets, expected.unknown_rates);
    prop_assert_eq!(host.taken.take(), expected.taken);
    prop_assert_eq!(end.marks().then(|| end.metadata()), expected.metadata);
    Ok(())
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
    let port = prop_oneof![policies::ports(), any::<u16>()];
    let malformed = select(Malformed::ALL);
    let flow =
        (option::weighted(0.9, policies::protocols()), option::weighted(0.9, port), option::of(malformed))
            .prop_map(|(protocol, destination_port, malformed)| Flow {
                protocol,
                destination_port,
                malformed,
                ..Flow::UNKNOWN
            });
    vec(flow, 1..40)
}

#[test]
fn without_rules_every_packet_passes_unmatched() {
    let host = Host::new(&Tables::EMPTY);
    let flow = Flow { protocol: Some(17), destination_port: Some(9), ..Flow::UNKNOWN };
    assert_eq!(host.judge(&flow, 60).0, Outcome::PassNoMatch);
    let counters = host.counters();
    assert_eq!((counters.packets(), counted(&counters.rules)), (1, vec![]));
}

#[test]
fn as_many_rules_as_there_may_be_are_all_reached() {
    let slot = |number: u16| 4095 - number;
    let rule = |number: u16| Rule {
        slot: slot(number),
        ..Rule::port(17, number, if number.is_multiple_of(2) { Action::Drop } else { Action::Pass })
    };
    let last = u16::try_from(MAX_RULES).unwrap();
    let tables = compile(&(0..last).map(rule).collect::<Vec<_>>());
    for number in 0..last {
        let flow = Flow { protocol: Some(17), destination_port: Some(number), ..Flow::UNKNOWN };
        let host = Host::new(&tables);
        let drops = number.is_multiple_of(2);
        assert_eq!(host.judge(&flow, 60).0, if drops { Outcome::DropRule } else { Outcome::PassRule });
        assert_eq!(counted(&host.counters().rules), [usize::from(slot(number))]);
    }
}

#[test]
fn as_many_counting_rules_as_there_may_be_are_all_counted() {
    let rules: Vec<Rule> =
        (100..).take(MAX_RULES).map(|slot| Rule { slot, ..Rule::all(Action::Count) }).collect();
    let tables = compile(&rules);
    let host = Host::new(&tables);
    assert_eq!(host.judge(&Flow::UNKNOWN, 60).0, Outcome::PassNoMatch);
    assert_eq!(counted(&host.counters().rules), (100..100 + MAX_RULES).collect::<Vec<_>>());
}
