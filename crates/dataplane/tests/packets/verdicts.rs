//! `cases/verdicts.yaml` through the product's program: the rule that decides, and nothing else, counts.

use rstest::rstest;
use serde::Deserialize;
use sluice_ebpf_common::Outcome;
use sluice_testkit::rules::{Action, Rule};

use crate::{
    can_load,
    cases::{self, bytes, case},
    rules::{Counted, load, run_on},
};

static VERDICTS: &str = include_str!("../cases/verdicts.yaml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdicts {
    id: String,
    #[serde(rename = "title")]
    _title: String,
    #[serde(rename = "note")]
    _note: Option<String>,
    rules: Vec<NamedRule>,
    packets: Vec<Packet>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedRule {
    name: String,
    protocol: Option<u8>,
    #[serde(default)]
    ports: Vec<String>,
    action: Terminal,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
enum Terminal {
    Drop,
    Pass,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Packet {
    frame: String,
    hex: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    by: String,
}

#[rstest]
#[case::pol_01("POL-01")]
#[case::pol_10("POL-10")]
#[case::pol_11("POL-11")]
#[case::pol_15("POL-15")]
#[case::pol_16("POL-16")]
fn decides(#[case] id: &str) {
    if !can_load() {
        return;
    }
    let verdicts = all().into_iter().find(|verdicts| verdicts.id == id).expect("a case with this id");
    let rules: Vec<Rule> = verdicts.rules.iter().map(NamedRule::rule).collect();
    let instance = load(&rules);
    for packet in &verdicts.packets {
        let counted = run_on(&instance, &packet.bytes());
        assert_eq!(counted, packet.expected(&verdicts.rules), "{}", packet.frame);
    }
}

#[test]
fn every_case_of_the_file_is_tested() {
    let ids: Vec<String> = all().into_iter().map(|verdicts| verdicts.id).collect();
    assert_eq!(ids, ["POL-01", "POL-10", "POL-11", "POL-15", "POL-16"]);
}

fn all() -> Vec<Verdicts> {
    cases::read(VERDICTS)
}

impl NamedRule {
    fn rule(&self) -> Rule {
        let range = |ports: &String| {
            let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
            (first.parse().unwrap(), last.parse().unwrap())
        };
        let action = if self.action == Terminal::Drop { Action::Drop } else { Action::Pass };
        let ports = self.ports.iter().map(range).collect();
        Rule { protocol: self.protocol, ports, ..Rule::all(action) }
    }
}

impl Packet {
    fn bytes(&self) -> Vec<u8> {
        match (&self.hex, &self.reference) {
            (Some(hex), None) => bytes(hex),
            (None, Some(id)) => case(id).frame(),
            _ => panic!("{}: either hex or ref", self.frame),
        }
    }

    fn expected(&self, rules: &[NamedRule]) -> Counted {
        let malformed = self.reference.as_ref().and_then(|id| case(id).expect.malformed());
        if self.by == "none" {
            return Counted { outcome: Outcome::PassNoMatch, rules: vec![], malformed };
        }
        let place = rules.iter().position(|rule| rule.name == self.by).expect("a rule of the case");
        let drops = rules[place].action == Terminal::Drop;
        let outcome = if drops { Outcome::DropRule } else { Outcome::PassRule };
        Counted { outcome, rules: vec![place], malformed }
    }
}
