//! Which interfaces a policy asks for.

use serde_json::Value;

use super::list::{each_text, elements};
use crate::problem::{Finding, Findings, Reason, quote};
use crate::{InterfaceSelector, NamePattern};

/// Reads `spec.interfaces`.
pub(super) fn check(list: &Value, findings: &mut Findings) -> Vec<InterfaceSelector> {
    elements(list)
        .map(|(index, entry)| selector(&format!("spec.interfaces[{index}]"), entry, findings))
        .collect()
}

fn selector(path: &str, entry: &Value, findings: &mut Findings) -> InterfaceSelector {
    let is_touched = findings.iter().any(|finding| finding.field.starts_with(path));
    if !is_touched && entry.as_object().is_some_and(serde_json::Map::is_empty) {
        let fix = "Give names, drivers or pciAddresses; names: [\"*\"] selects every physical NIC and bond";
        findings.push(Finding::new(path, Reason::EmptySelector, "the entry selects nothing", fix));
    }
    InterfaceSelector {
        names: each_text(&entry["names"], &format!("{path}.names"), findings, name),
        drivers: each_text(&entry["drivers"], &format!("{path}.drivers"), findings, driver),
        pci_addresses: each_text(
            &entry["pciAddresses"],
            &format!("{path}.pciAddresses"),
            findings,
            pci_address,
        ),
    }
}

fn name(path: &str, text: &str) -> Result<NamePattern, Finding> {
    NamePattern::parse(text).map_err(|(what, fix)| {
        let message = format!("{} is no interface name and no pattern: {what}", quote(text));
        Finding::new(path, Reason::InvalidPattern, message, fix)
    })
}

fn driver(path: &str, text: &str) -> Result<String, Finding> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_plain && !text.is_empty() {
        return Ok(text.to_owned());
    }
    let message = format!("{} is no name of a driver", quote(text));
    let fix = "Write the name that ethtool -i shows, such as ixgbe; patterns are for names only";
    Err(Finding::new(path, Reason::InvalidPattern, message, fix))
}

/// `domain:bus:device.function`, hexadecimal, as the kernel writes it.
fn pci_address(path: &str, text: &str) -> Result<String, Finding> {
    let is_hex = |part: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let is_address = match parts[..] {
        [domain, bus, device, function] => {
            is_hex(domain, 4..=8)
                && is_hex(bus, 2..=2)
                && is_hex(device, 2..=2)
                && is_hex(function, 1..=1)
                && text.ends_with(&format!("{bus}:{device}.{function}"))
        }
        _ => false,
    };
    if is_address {
        return Ok(text.to_ascii_lowercase());
    }
    let message = format!("{} is no PCI address", quote(text));
    let fix = "Write it as ethtool -i shows it, with the domain, such as 0000:3b:00.0";
    Err(Finding::new(path, Reason::InvalidPciAddress, message, fix))
}
