//! `explain --packet`: which rule decides about a packet, and why. It asks the reference evaluator, which
//! needs no agent and no kernel; the address sets and rates of a running node are unknown to it.

mod description;
pub mod input;
mod report;
mod text;

use std::process::ExitCode;

use sluice_policy::reference::{NoSets, Packet, Unlimited, explain};
use sluice_policy::{InterfacePlan, InterfaceSelector, LinkFacts, Mode, Node, Policy, compile};

use self::report::PacketReport;
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
    let plans = match links {
        Some(links) => compile(policies, &Node { links, ..Node::default() }).interfaces,
        None => on_one_interface(policies),
    };
    let plan = chosen(plans, arguments.interface.as_deref())?;
    let explanation = explain(&plan.rules, &NoSets, &mut Unlimited, packet);
    let report = PacketReport::new(packet, &plan, policies, explanation, arguments.all);
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
fn on_one_interface(policies: &[Policy]) -> Vec<InterfacePlan> {
    let driver = String::from("any");
    let selector = InterfaceSelector { drivers: vec![driver.clone()], ..InterfaceSelector::default() };
    let widened = policies.iter().map(|policy| Policy {
        interfaces: vec![selector.clone()],
        mode: Mode::Auto,
        ..policy.clone()
    });
    let link = LinkFacts { name: "any interface".into(), driver: Some(driver), ..LinkFacts::default() };
    compile(&widened.collect::<Vec<_>>(), &Node { links: vec![link], ..Node::default() }).interfaces
}

/// The interface that is asked about, which has to be named if there are several.
fn chosen(mut plans: Vec<InterfacePlan>, name: Option<&str>) -> Result<InterfacePlan, Error> {
    let known: Vec<String> = plans.iter().map(|plan| plan.name.clone()).collect();
    match name {
        Some(name) => plans.retain(|plan| plan.name == name),
        None if plans.len() > 1 => return Err(Error::WhichInterface { known }),
        None => {}
    }
    plans.pop().ok_or_else(|| Error::NoInterface { name: name.map(str::to_owned), known })
}
