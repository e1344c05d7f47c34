//! The straight line against the parser and the walk: what it takes for its own it must judge as they do.

use proptest::{collection::vec, prelude::*, sample::Index};
use sluice_ebpf::{
    fast::{self, NOT_FOR_US, WALK},
    vary::Varied,
    walk::Environment as _,
};
use sluice_ebpf_common::{
    Outcome, Tables,
    tables::{MAX_BITS, RULE_DRY_RUN, Rule},
};
use sluice_testkit::{Frame, rules};

use crate::{
    bytes::{Head, parsed},
    common::{
        environment::{Host, decided},
        memory::Memory,
    },
    content::{Built, contents},
    packet::packets,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn it_judges_as_the_parser_and_the_walk_do(
        (content, seeds) in (contents(), vec(any::<[u16; 4]>(), 1..50)),
        frames in vec((packets(), vec((any::<Index>(), any::<u8>()), 0..2)), 1..12),
    ) {
        let mut built = content.build();
        write_rules(&mut built.tables, &seeds);
        for (packet, damage) in frames {
            let mut frame = packet.bytes();
            for (at, byte) in damage {
                let at = at.index(frame.len());
                frame[at] = byte;
            }
            agrees(&built, &frame)?;
        }
    }
}

fn agrees(built: &Built, frame: &[u8]) -> Result<(), TestCaseError> {
    let (straight, usual) = (host(built), host(built));
    let head = Head { bytes: frame, length: frame.len() };
    let code = fast::judge(&head, frame.len(), &built.tables, &Varied::NOTHING, &straight);
    if code == NOT_FOR_US {
        return Ok(());
    }
    let (outcome, end) = if code == WALK { straight.go_on() } else { decided(code) };
    let expected = usual.judge(&parsed(frame), frame.len());
    prop_assert_eq!((outcome, end), expected);
    let (counted, expected) = (straight.counters(), usual.counters());
    prop_assert_eq!(counted.outcomes, expected.outcomes);
    prop_assert_eq!(counted.events, expected.events);
    prop_assert_eq!(counted.malformed, expected.malformed);
    prop_assert!(counted.rules == expected.rules, "rules are counted differently");
    prop_assert_eq!(straight.taken.take(), usual.taken.take());
    let sources = [&straight, &usual].map(|host| (host.walk().source, host.walk().version));
    prop_assert!(code != WALK || sources[0] == sources[1], "{:?}", sources);
    Ok(())
}

fn host(built: &Built) -> Host<'_> {
    let mut host = Host::new(&built.tables);
    host.fixed = Memory::of(&built.fixed);
    host.live = Memory::of(&built.live);
    host
}

fn write_rules(tables: &mut Tables, seeds: &[[u16; 4]]) {
    let last = u16::try_from(MAX_BITS).unwrap();
    for (number, ([kind, outcome, slot, jump], rule)) in
        (0..last).zip(seeds.iter().cycle().zip(&mut tables.rules))
    {
        let policy_end = (number + 1 + jump % 200).min(last);
        *rule = Rule {
            action: u8::try_from(kind % 4).unwrap(),
            outcome: Outcome::ALL[usize::from(*outcome) % Outcome::ALL.len()] as u8,
            flags: if kind & 16 == 0 { 0 } else { RULE_DRY_RUN },
            slot: slot.wrapping_add(number) % 4096,
            next: (number + 1 + jump % 3).min(policy_end),
            policy_end,
            parameter: jump % 1024,
            ..Rule::default()
        };
    }
    for (number, marking) in (0..).zip(&mut tables.markings) {
        (marking.given, marking.mark, marking.priority) = (number % 4, number, number + 7);
    }
}

/// Or nothing would be compared.
#[test]
fn ordinary_packets_are_for_it() {
    let tables = rules::compile(&[rules::Rule::port(17, 9, rules::Action::Drop)]);
    let frame = || Frame::ethernet([2; 6], [2; 6]);
    let v4 = || frame().ipv4([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let v6 = || frame().ipv6("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
    for packet in [v4().udp(1, 9), v6().udp(1, 9)] {
        let (bytes, host) = (packet.build(), Host::new(&tables));
        let head = Head { bytes: &bytes, length: bytes.len() };
        let code = fast::judge(&head, bytes.len(), &tables, &Varied::NOTHING, &host);
        assert_eq!(code, Outcome::DropRule as u32);
    }
}
