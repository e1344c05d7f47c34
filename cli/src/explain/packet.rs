//! `explain --packet`: which rule decides about a packet, and why. It asks the reference evaluator, which
//! needs no agent and no kernel; the address sets and rates of a running node are unknown to it.

mod description;
pub mod input;
mod notes;
mod report;
mod text;

use std::{collections::BTreeSet, process::ExitCode};

use sluice_policy::reference::{NoSets, Packet, Unlimited, explain};
use sluice_policy::{
    InterfacePlan, InterfaceSelector, LinkFacts, Mode, Node, NodePlan, Policy, SetFacts, compile,
};

use self::{notes::notes, report::PacketReport};
use crate::{
    arguments::{ExplainArguments, ExplainFormat},
    error::Error,
    output,
};

/// Explains what becomes of a packet under good policies.
pub fn run(
    arguments: &ExplainArguments,
    packet: &Packet,
    policies: &[Policy],
    links: Option<Vec<LinkFacts>>,
) -> Result<ExitCode, Error> {
    let plan = match links {
        Some(links) => compile(policies, &node(policies, links)),
        None => on_one_interface(policies),
    };
    let interface = chosen(&plan, arguments.interface.as_deref())?;
    let explanation = explain(&interface.rules, &NoSets, &mut Unlimited, packet);
    let notes = notes(&plan, interface, policies, &explanation);
    let report = PacketReport::new(packet, interface, explanation, notes, arguments.all);
    match arguments.output {
        ExplainFormat::Text => {
            let text = text::PacketText { report: &report, width: output::terminal_width() };
            output::print(&text.to_string())?;
        }
        ExplainFormat::Json => output::print_json(&report)?,
        ExplainFormat::Yaml => output::print_yaml(&report)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Without a node all policies are taken to be on one interface, whatever they select.
fn on_one_interface(policies: &[Policy]) -> NodePlan {
    let driver = String::from("any");
    let selector = InterfaceSelector { drivers: vec![driver.clone()], ..InterfaceSelector::default() };
    let widened = policies.iter().map(|policy| Policy {
        interfaces: vec![selector.clone()],
        mode: Mode::Auto,
        ..policy.clone()
    });
    let widened: Vec<_> = widened.collect();
    let link = LinkFacts { name: "any interface".into(), driver: Some(driver), ..LinkFacts::default() };
    compile(&widened, &node(policies, vec![link]))
}

/// A node that has every address set that is named: a policy whose set is missing would be left out.
fn node(policies: &[Policy], links: Vec<LinkFacts>) -> Node {
    let matchers = policies.iter().flat_map(|policy| &policy.rules).map(|rule| &rule.matcher);
    let fields = matchers.flat_map(|matcher| std::iter::once(&matcher.fields).chain(&matcher.not));
    let references = fields.flat_map(|fields| [&fields.source_sets, &fields.destination_sets]).flatten();
    let names: BTreeSet<&String> = references.flat_map(|reference| &reference.names).collect();
    let sets = names.into_iter().map(|name| SetFacts { name: name.clone(), ..SetFacts::default() });
    Node { links, sets: sets.collect(), ..Node::default() }
}

/// The interface that is asked about, which has to be named if there are several.
fn chosen<'a>(plan: &'a NodePlan, name: Option<&str>) -> Result<&'a InterfacePlan, Error> {
    let known = || plan.interfaces.iter().map(|plan| plan.name.clone()).collect();
    let found = match (name, plan.interfaces.as_slice()) {
        (None, [only]) => Some(only),
        (None, [_, _, ..]) => return Err(Error::WhichInterface { known: known() }),
        (None, []) => None,
        (Some(name), plans) => plans.iter().find(|plan| plan.name == name),
    };
    found.ok_or_else(|| Error::NoInterface { name: name.map(str::to_owned), known: known() })
}
