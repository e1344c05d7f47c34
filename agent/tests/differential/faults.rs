//! The test of the tests: each of these faults is found, within the pairs of a usual run.

use rstest::rstest;
use sluice_ebpf_common::Tables;
use sluice_ebpf_common::tables::{Action, GIVES_MARK, RULE_DRY_RUN};
use sluice_policy::reference::{FragmentPlace, Packet};
use sluice_policy::{Bindings, CompiledRules, InterfacePlan};

use crate::can_load;
use crate::comparison::Tampering;
use crate::random::PAIRS;
use crate::search::Search;

/// Changes rules before they are compiled.
struct InRules(fn(&mut InterfacePlan));
/// Changes what they were compiled to.
struct InTables(fn(&mut Tables));
/// Changes which counter and which list is whose.
struct InBindings(fn(&mut Bindings));
/// Changes what has been read of a packet.
struct InPackets(fn(&mut Packet));

impl Tampering for InRules {
    fn program(&self, plan: &InterfacePlan, bindings: &mut Bindings) -> CompiledRules {
        let mut plan = plan.clone();
        self.0(&mut plan);
        plan.compiled(bindings).unwrap()
    }
}

impl Tampering for InTables {
    fn program(&self, plan: &InterfacePlan, bindings: &mut Bindings) -> CompiledRules {
        let mut compiled = plan.compiled(bindings).unwrap();
        self.0(&mut compiled.tables);
        compiled
    }
}

impl Tampering for InBindings {
    fn program(&self, plan: &InterfacePlan, bindings: &mut Bindings) -> CompiledRules {
        let mut other = bindings.clone();
        self.0(&mut other);
        plan.compiled(&other).unwrap()
    }
}

impl Tampering for InPackets {
    fn packet(&self, mut packet: Packet) -> Packet {
        self.0(&mut packet);
        packet
    }
}

fn port_ranges_end_too_early(plan: &mut InterfacePlan) {
    let ranges = plan.rules.iter_mut().flat_map(|rule| &mut rule.matcher.fields.destination_ports);
    ranges.filter(|range| range.first < range.last).for_each(|range| range.last -= 1);
}

fn the_family_of_a_whole_prefix_is_forgotten(plan: &mut InterfacePlan) {
    for rule in &mut plan.rules {
        let sources = &mut rule.matcher.fields.sources;
        if sources.iter().any(|prefix| prefix.prefix_len() == 0) {
            sources.clear();
        }
    }
}

fn a_class_of_addresses_is_another(tables: &mut Tables) {
    let first = tables.source_classes as usize;
    tables.entries.swap(first + 1, first + 2);
}

fn rules_go_on_too_far(tables: &mut Tables) {
    let go_on = tables.rules.iter_mut().filter(|rule| rule.action != Action::Decide as u8);
    go_on.for_each(|rule| rule.next += 1);
}

fn dry_runs_are_carried_out(tables: &mut Tables) {
    tables.rules.iter_mut().for_each(|rule| rule.flags &= !RULE_DRY_RUN);
}

fn a_dry_run_ends_everything(tables: &mut Tables) {
    let dry = tables.rules.iter_mut().filter(|rule| rule.flags & RULE_DRY_RUN != 0);
    dry.for_each(|rule| rule.policy_end = u16::MAX);
}

fn a_bit_of_a_summary_is_missing(tables: &mut Tables) {
    let used = tables.entries.iter_mut().filter(|entry| entry.summary != 0);
    used.for_each(|entry| entry.summary &= entry.summary - 1);
}

fn what_rejects_a_list_is_forgotten(tables: &mut Tables) {
    tables.lists[2..].iter_mut().flatten().for_each(|entry| entry.summary = 0);
}

fn marks_are_lost(tables: &mut Tables) {
    tables.markings.iter_mut().for_each(|marking| marking.given &= !GIVES_MARK);
}

fn sources_share_a_bucket(tables: &mut Tables) {
    tables.limits.iter_mut().for_each(|limit| limit.per_source = 0);
}

fn two_rules_exchange_their_counters(bindings: &mut Bindings) {
    let own = |name: &&String| name.starts_with("a/r");
    let names: Vec<String> = bindings.slots.keys().filter(own).take(2).cloned().collect();
    if let [one, other] = &names[..] {
        let slots = (bindings.slots[one], bindings.slots[other]);
        bindings.slots.insert(one.clone(), slots.1);
        bindings.slots.insert(other.clone(), slots.0);
    }
}

fn two_lists_exchange_their_bits(bindings: &mut Bindings) {
    let mut bits: Vec<u8> = bindings.lists.values().copied().collect();
    bits.rotate_left(1);
    bindings.lists.values_mut().zip(bits).for_each(|(bit, other)| *bit = other);
}

fn the_innermost_tag_counts(packet: &mut Packet) {
    packet.vlans.reverse();
}

fn a_later_fragment_is_taken_for_a_first_one(packet: &mut Packet) {
    if packet.fragment == Some(FragmentPlace::Later) {
        packet.fragment = Some(FragmentPlace::First);
    }
}

fn lengths_are_those_of_frames(packet: &mut Packet) {
    packet.l3_length = packet.l3_length.map(|_| packet.frame_length);
}

#[rstest]
#[case::port_ranges(&InRules(port_ranges_end_too_early))]
#[case::families(&InRules(the_family_of_a_whole_prefix_is_forgotten))]
#[case::classes(&InTables(a_class_of_addresses_is_another))]
#[case::next(&InTables(rules_go_on_too_far))]
#[case::dry_run(&InTables(dry_runs_are_carried_out))]
#[case::policy_end(&InTables(a_dry_run_ends_everything))]
#[case::summary(&InTables(a_bit_of_a_summary_is_missing))]
#[case::not_lists(&InTables(what_rejects_a_list_is_forgotten))]
#[case::marks(&InTables(marks_are_lost))]
#[case::sources(&InTables(sources_share_a_bucket))]
#[case::counters(&InBindings(two_rules_exchange_their_counters))]
#[case::lists(&InBindings(two_lists_exchange_their_bits))]
#[case::tags(&InPackets(the_innermost_tag_counts))]
#[case::fragments(&InPackets(a_later_fragment_is_taken_for_a_first_one))]
#[case::lengths(&InPackets(lengths_are_those_of_frames))]
fn a_fault_is_found(#[case] fault: &dyn Tampering) {
    if !can_load() {
        return;
    }
    let mut search = Search::new(1).without_shrinking();
    while search.pairs < PAIRS {
        if search.step(fault).is_err() {
            println!("found within {} sets of policies, {} pairs", search.inputs, search.pairs);
            return;
        }
    }
    panic!("not found in {} pairs", search.pairs);
}
