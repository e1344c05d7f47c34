//! IP protocols by name or number.

use serde_json::Value;

use super::number;
use crate::problem::{Finding, Reason, quote};

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const SCTP: u8 = 132;
pub(super) const ICMP: u8 = 1;
pub(super) const ICMPV6: u8 = 58;

/// Names that a policy may use. The authentication header is not among them: in an IPv6 packet it
/// is an extension header, and the protocol is what stands behind it.
const NAMES: &[(&str, u8)] = &[
    ("TCP", TCP),
    ("UDP", UDP),
    ("SCTP", SCTP),
    ("ICMP", ICMP),
    ("ICMPv6", ICMPV6),
    ("IGMP", 2),
    ("IPIP", 4),
    ("IPv6", 41),
    ("GRE", 47),
    ("ESP", 50),
    ("OSPF", 89),
    ("VRRP", 112),
];

/// Reads a protocol.
pub(super) fn check(path: &str, value: &Value) -> Result<u8, Finding> {
    let number = match value {
        Value::Number(number) => number.as_u64().and_then(|number| u8::try_from(number).ok()),
        Value::String(text) => by_text(text),
        _ => None,
    };
    number.ok_or_else(|| {
        let text = value.as_str().map_or_else(|| value.to_string(), quote);
        Finding::new(path, Reason::InvalidProtocol, format!("{text} is no protocol"), fix(value))
    })
}

/// What a policy calls the protocol, or `IP protocol` and its number if it has no name there.
#[must_use]
pub fn protocol_name(protocol: u8) -> String {
    let known = NAMES.iter().find(|(_, number)| *number == protocol);
    known.map_or_else(|| format!("IP protocol {protocol}"), |(name, _)| (*name).to_owned())
}

fn by_text(text: &str) -> Option<u8> {
    let by_name = NAMES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
    by_name.or_else(|| number::plain(text))
}

fn fix(value: &Value) -> String {
    let meant =
        value.as_str().and_then(|text| NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)));
    if let Some((name, _)) = meant {
        return format!("Did you mean {name}?");
    }
    let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    format!("Write one of {}, or a number from 0 to 255", names.join(", "))
}
