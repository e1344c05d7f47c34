//! The table of interfaces, and below it in words what is remarkable about each.

use std::{
    collections::BTreeMap,
    fmt::{self, Formatter},
};

use sluice_ipc::{NO_PACKET_IN_SAMPLE, v1alpha1::InterfaceStatus};

use super::{Columns, table};
use crate::{numbers, output::clean};

const STATE: Columns<'_> = &["INTERFACE", "DRIVER", "ASKED", "MODE", "VERIFIED", ">PROGRAM", "REVISION"];
const TRAFFIC: Columns<'_> = &[">PACKETS/S", ">NS/PACKET", ">DROPS/S", ">DROPPED"];

/// Digits of a revision that tell it apart from any other on this node.
pub const REVISION_DIGITS: usize = 8;

/// Writes the table and the sentences.
pub fn write(f: &mut Formatter<'_>, interfaces: &[InterfaceStatus], width: Option<u16>) -> fmt::Result {
    f.write_str(&one_table_or_two(interfaces, width))?;
    for interface in interfaces {
        remarks(f, interface)?;
    }
    for (because, names) in unmeasured(interfaces) {
        writeln!(f, "  {}: no ns per packet: {}", clean(&names.join(", ")), clean(because))?;
    }
    Ok(())
}

/// All columns side by side, or what does not fit the terminal in a second table: a row whose
/// words are broken cannot be read.
fn one_table_or_two(interfaces: &[InterfaceStatus], width: Option<u16>) -> String {
    let rows = |row: fn(&InterfaceStatus) -> Vec<String>| interfaces.iter().map(row).collect();
    let side_by_side = |it: &InterfaceStatus| [state(it), traffic(it)].concat();
    let wide = table(&[STATE, TRAFFIC].concat(), rows(side_by_side), None);
    let fits = |width: u16| wide.lines().all(|line| line.chars().count() <= width.into());
    if width.is_none_or(fits) {
        return wide;
    }
    let below = |it: &InterfaceStatus| [vec![it.name.clone()], traffic(it)].concat();
    let columns = [&["INTERFACE"], TRAFFIC].concat();
    format!("{}\n{}", table(STATE, rows(state), None), table(&columns, rows(below), None))
}

fn state(interface: &InterfaceStatus) -> Vec<String> {
    let word = |text: &str| {
        if text.is_empty() { "-".to_owned() } else { text.to_owned() }
    };
    vec![
        interface.name.clone(),
        word(&interface.driver),
        word(&interface.mode_asked),
        if attached(interface) { interface.mode_in_force.clone() } else { "none".into() },
        // "Unverified (no traffic yet)": what stands in brackets is said below.
        word(interface.verified.split(' ').next().unwrap_or_default()),
        if interface.program_id == 0 { "-".into() } else { interface.program_id.to_string() },
        word(&interface.revision.chars().take(REVISION_DIGITS).collect::<String>()),
    ]
}

fn traffic(interface: &InterfaceStatus) -> Vec<String> {
    vec![
        numbers::rate(interface.packets_per_second),
        numbers::nanoseconds(interface.nanoseconds_per_packet),
        numbers::rate(interface.drops_per_second),
        if attached(interface) { numbers::count(dropped(interface)) } else { "-".into() },
    ]
}

const fn attached(interface: &InterfaceStatus) -> bool {
    !interface.mode_in_force.is_empty()
}

fn dropped(interface: &InterfaceStatus) -> u64 {
    let drops = interface.outcomes.iter().filter(|outcome| outcome.verdict == "Drop");
    drops.fold(0, |sum, outcome| sum.saturating_add(outcome.packets))
}

fn remarks(f: &mut Formatter<'_>, interface: &InterfaceStatus) -> fmt::Result {
    let name = clean(&interface.name);
    if !attached(interface) {
        writeln!(f, "  {name}: no program of ours is attached: nothing is filtered here")?;
    }
    if let Some(foreign) = &interface.foreign_program {
        let quoted =
            if foreign.name.is_empty() { String::new() } else { format!(" \"{}\"", clean(&foreign.name)) };
        let (id, mode) = (foreign.id, clean(&foreign.mode));
        writeln!(f, "  {name}: program {id}{quoted} of somebody else holds it ({mode}) and is left alone")?;
    }
    match interface.verified.as_str() {
        "Bypassed" => writeln!(
            f,
            "  {name}: BYPASSED: packets arrive, but the attached program does not see them: nothing is filtered here"
        )?,
        "" | "Verified" => {}
        other => writeln!(f, "  {name}: {}", clean(other))?,
    }
    for unparsed in interface.malformed.iter().filter(|counter| is_unparsed(&counter.reason)) {
        writeln!(
            f,
            "  {name}: warning: {} packets passed that rules could not look into, because they have too many headers ({})",
            unparsed.packets,
            clean(&unparsed.reason)
        )?;
    }
    events(f, interface)?;
    match (interface.reason.as_str(), interface.message.as_str()) {
        ("", "") => {}
        (reason, "") => writeln!(f, "  {name}: {}", clean(reason))?,
        ("", message) => writeln!(f, "  {name}: {}", clean(message))?,
        (reason, message) => writeln!(f, "  {name}: {}: {}", clean(reason), clean(message))?,
    }
    if !interface.remedy.is_empty() {
        writeln!(f, "    fix: {}", clean(&interface.remedy))?;
    }
    Ok(())
}

/// What happened to packets besides their verdict, and what is not carried out as it was asked for.
fn events(f: &mut Formatter<'_>, interface: &InterfaceStatus) -> fmt::Result {
    let name = clean(&interface.name);
    for degraded in &interface.degraded {
        writeln!(f, "  {name}: DEGRADED: {}: {}", clean(&degraded.reason), clean(&degraded.message))?;
    }
    for event in interface.events.iter().filter(|event| event.packets > 0) {
        let packets = event.packets;
        match event.event.as_str() {
            "DryRunDrop" => {
                writeln!(f, "  {name}: dry runs would have dropped {} packets", numbers::count(packets))?;
            }
            "SourceTableFailed" => writeln!(
                f,
                "  {name}: warning: {packets} packets were within their rate because their source found no place in the table"
            )?,
            "TableFailed" => writeln!(
                f,
                "  {name}: warning: an address could not be looked up for {packets} packets: rules that read it did not match \
                 them"
            )?,
            _ => {}
        }
    }
    if let Some(evicted) = interface.sources_evicted.filter(|evicted| *evicted > 0) {
        let evicted = numbers::count(evicted);
        writeln!(f, "  {name}: rate limits have forgotten {evicted} sources to make room for others")?;
    }
    Ok(())
}

/// The host may deliver such packets; what is malformed in other ways it drops.
fn is_unparsed(reason: &str) -> bool {
    matches!(reason, "VlanDepth" | "Ipv6ExtensionDepth")
}

/// Interfaces by the reason for which their time per packet is not known. One reason usually
/// holds for all of them. That no packet came needs no words: the table shows it.
fn unmeasured(interfaces: &[InterfaceStatus]) -> BTreeMap<&str, Vec<&str>> {
    let mut unmeasured = BTreeMap::<_, Vec<_>>::new();
    for interface in interfaces {
        let because = interface.nanoseconds_unavailable_because.as_str();
        let is_remarkable = !because.is_empty() && because != NO_PACKET_IN_SAMPLE;
        if interface.nanoseconds_per_packet.is_none() && is_remarkable {
            unmeasured.entry(because).or_default().push(interface.name.as_str());
        }
    }
    unmeasured
}
