//! `explain`: compiles policies as the agent would, and prints the plan or everything that is
//! wrong. It needs no agent and touches no kernel.

mod files;
mod links;
mod packet;
mod report;
mod text;
mod words;

use std::process::ExitCode;

use sluice_policy::{
    InterfaceSelector, LinkFacts, Node, ParsedFile, Policy, PolicyReport, compile, refuse_duplicates,
};

pub use self::packet::input::parse as parse_packet;
use self::report::{Finding, Report};
use crate::{
    arguments::{ExplainArguments, ExplainFormat},
    error::Error,
    output,
};

/// Runs `sluicectl explain`.
pub fn run(arguments: &ExplainArguments) -> Result<ExitCode, Error> {
    let links = arguments.links.as_deref().map(links::read).transpose()?;
    let read = files::read(&[arguments.files.as_slice(), &arguments.named].concat());
    let mut parsed = read.parsed;
    refuse_duplicates(&mut parsed);
    let (policies, findings) = split(parsed, read.findings);
    if let Some(packet) = arguments.packet.as_ref().filter(|_| findings.is_empty()) {
        return packet::run(arguments, packet, &policies, links);
    }
    let report = if let Some(links) = links {
        let plan = compile(&policies, &Node { links, ..Node::default() });
        Report::new(policies, &plan.policies.clone(), Some(plan), findings)
    } else {
        let reports: Vec<_> = policies.iter().flat_map(report_on_any_interface).collect();
        Report::new(policies, &reports, None, findings)
    };
    match arguments.output {
        ExplainFormat::Text => {
            let text = text::ReportText { report: &report, width: output::terminal_width() };
            output::print(&text.to_string())?;
        }
        ExplainFormat::Json => output::print_json(&report)?,
        ExplainFormat::Yaml => output::print_yaml(&report)?,
    }
    Ok(if report.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What can be said of a policy without a node: it is compiled for one made-up interface that it
/// selects whatever its selectors are.
fn report_on_any_interface(policy: &Policy) -> Vec<PolicyReport> {
    let driver = String::from("any");
    let selector = InterfaceSelector { drivers: vec![driver.clone()], ..InterfaceSelector::default() };
    let policy = Policy { interfaces: vec![selector], ..policy.clone() };
    // The name is read in messages: "rule web is never reached on any interface".
    let link = LinkFacts { name: "any interface".into(), driver: Some(driver), ..LinkFacts::default() };
    compile(&[policy], &Node { links: vec![link], ..Node::default() }).policies
}

/// The good policies, and everything that is wrong in the order of the files.
fn split(files: Vec<(String, ParsedFile)>, mut findings: Vec<Finding>) -> (Vec<Policy>, Vec<Finding>) {
    let mut policies = Vec::new();
    for (_, file) in files {
        findings.extend(file.problems.into_iter().map(Finding::from));
        let bad_sets = file.sets.into_iter().filter_map(|set| set.result.err());
        findings.extend(bad_sets.flatten().map(Finding::from));
        for document in file.documents {
            match document.result {
                Ok(policy) => policies.push(policy),
                Err(problems) => findings.extend(problems.into_iter().map(Finding::from)),
            }
        }
    }
    (policies, findings)
}
