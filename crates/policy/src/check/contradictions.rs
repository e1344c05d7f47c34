//! Fields that cannot match together: such a rule would do nothing, and look like protection.

use ipnet::IpNet;
use serde_json::Value;

use super::list::elements;
use super::prefix;
use super::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP, protocol_name};
use crate::problem::{Finding, Findings, Reason};
use crate::{Fields, IpVersion};

/// What is known of the protocol that a group of fields goes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// None was given.
    Absent,
    /// One was given or meant, but it was refused: no conclusion can be drawn.
    Refused,
    /// This one.
    Is(u8),
}

impl Protocol {
    /// What the object at `path` says.
    pub(super) fn of(path: &str, value: &Value, fields: &Fields, findings: &Findings) -> Self {
        match fields.protocol {
            Some(protocol) => Self::Is(protocol),
            // What was misspelt may be the protocol: no conclusion from its absence.
            None if !value["protocol"].is_null() || findings.has_lost(path, "protocol") => Self::Refused,
            None => Self::Absent,
        }
    }

    /// This one, or if there is none, the other.
    pub(super) fn or(self, other: Self) -> Self {
        if self == Self::Absent { other } else { self }
    }
}

/// Refuses contradictions among the fields of the object at `path`.
pub(super) fn check(path: &str, value: &Value, fields: &Fields, protocol: Protocol, findings: &mut Findings) {
    for (field, need) in NEEDS.iter().filter(|(field, _)| !value[*field].is_null()) {
        need.check(path, field, protocol, findings);
    }
    families(path, value, fields, findings);
}

/// A field that only packets of some protocols have.
struct Need {
    what: &'static str,
    protocols: &'static [u8],
    names: &'static str,
    reason: Reason,
}

const PORTS: Need = Need {
    what: "ports",
    protocols: &[TCP, UDP, SCTP],
    names: "TCP, UDP or SCTP",
    reason: Reason::PortsNeedProtocol,
};
const FLAGS: Need =
    Need { what: "TCP flags", protocols: &[TCP], names: "TCP", reason: Reason::FlagsNeedProtocol };
const TYPES: Need = Need {
    what: "ICMP types",
    protocols: &[ICMP, ICMPV6],
    names: "ICMP or ICMPv6",
    reason: Reason::IcmpNeedsProtocol,
};
/// `ports` is the field's name in `failsafe.extra`.
const NEEDS: &[(&str, Need)] = &[
    ("sourcePorts", PORTS),
    ("destinationPorts", PORTS),
    ("ports", PORTS),
    ("tcpFlags", FLAGS),
    ("icmp", TYPES),
];

impl Need {
    fn check(&self, path: &str, field: &str, protocol: Protocol, findings: &mut Findings) {
        let Self { what, protocols, names, reason } = self;
        match protocol {
            Protocol::Absent => findings.push(Finding::new(
                format!("{path}.protocol"),
                *reason,
                format!("{field} needs a protocol that has {what}"),
                format!("Add protocol: {names}"),
            )),
            Protocol::Is(number) if !protocols.contains(&number) => findings.push(Finding::new(
                format!("{path}.{field}"),
                *reason,
                format!("{} has no {what}", protocol_name(number)),
                format!("Remove {field}, or use protocol {names}"),
            )),
            Protocol::Is(_) | Protocol::Refused => {}
        }
    }
}

/// IPv4 and IPv6 never match in one packet.
fn families(path: &str, value: &Value, fields: &Fields, findings: &mut Findings) {
    let by_protocol = match fields.protocol {
        Some(ICMP) => Some((IpVersion::V4, "protocol ICMP")),
        Some(ICMPV6) => Some((IpVersion::V6, "protocol ICMPv6")),
        _ => None,
    };
    let by_version = fields.ip_version.map(|version| match version {
        IpVersion::V4 => (version, "ipVersion 4"),
        IpVersion::V6 => (version, "ipVersion 6"),
    });
    if let (Some((version, words)), Some((other, protocol))) = (by_version, by_protocol)
        && version != other
    {
        let message = format!("{words}, but {protocol} is {} only", family(other));
        let fix = "Remove ipVersion, or use the other protocol";
        findings.push(Finding::new(format!("{path}.ipVersion"), Reason::FamilyMismatch, message, fix));
    }
    match by_version.or(by_protocol) {
        Some((version, words)) => {
            for field in ["sources", "destinations"] {
                prefixes_of(&format!("{path}.{field}"), &value[field], version, words, findings);
            }
        }
        None => source_and_destination(path, value, fields, findings),
    }
}

fn prefixes_of(path: &str, list: &Value, version: IpVersion, words: &str, findings: &mut Findings) {
    let prefixes =
        elements(list).filter_map(|(index, text)| Some((index, prefix::parse(text.as_str()?).ok()?)));
    for (index, prefix) in prefixes.filter(|(_, prefix)| version_of(prefix) != version) {
        let message = format!("{prefix} is {}, and {words} is not", family(version_of(&prefix)));
        let fix = "Remove one of them, or write a rule for each family";
        findings.push(Finding::new(format!("{path}[{index}]"), Reason::FamilyMismatch, message, fix));
    }
}

fn source_and_destination(path: &str, value: &Value, fields: &Fields, findings: &mut Findings) {
    let is_whole = |field: &str, read: &[IpNet]| elements(&value[field]).count() == read.len();
    let is_known = is_whole("sources", &fields.sources) && is_whole("destinations", &fields.destinations);
    let (Some(source), Some(destination)) = (one_family(&fields.sources), one_family(&fields.destinations))
    else {
        return;
    };
    if is_known && source != destination {
        let message =
            format!("the sources are {} and the destinations {}", family(source), family(destination));
        let fix = "Use prefixes of one family, or write a rule for each";
        findings.push(Finding::new(format!("{path}.destinations"), Reason::FamilyMismatch, message, fix));
    }
}

fn one_family(prefixes: &[IpNet]) -> Option<IpVersion> {
    let first = version_of(prefixes.first()?);
    prefixes.iter().all(|prefix| version_of(prefix) == first).then_some(first)
}

const fn version_of(prefix: &IpNet) -> IpVersion {
    match prefix {
        IpNet::V4(_) => IpVersion::V4,
        IpNet::V6(_) => IpVersion::V6,
    }
}

const fn family(version: IpVersion) -> &'static str {
    match version {
        IpVersion::V4 => "IPv4",
        IpVersion::V6 => "IPv6",
    }
}
