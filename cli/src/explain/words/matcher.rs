//! What a rule matches, in words.

use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use sluice_policy::{
    Fields, FragmentPart, FrameKind, IcmpRange, IpVersion, Matcher, PortRange, SetReference, TcpFlags,
    protocol_name,
};

use super::lists::any_of;

/// TCP flags by name, from the lowest bit on.
const TCP_FLAGS: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

/// `UDP from 192.0.2.0/24 to port 9 or 100-200, but not fragments`.
pub fn matcher(matcher: &Matcher) -> String {
    match &matcher.not {
        None => fields(&matcher.fields),
        Some(not) => format!("{}, but not {}", fields(&matcher.fields), phrase(not, "packets")),
    }
}

/// What these fields ask for together.
pub fn fields(fields: &Fields) -> String {
    phrase(fields, "every packet")
}

/// Begins with `anything` where no kind of packet is asked for.
fn phrase(fields: &Fields, anything: &str) -> String {
    let mut words = kind(fields).unwrap_or_else(|| anything.to_owned());
    let ends = [
        ("from", &fields.sources, &fields.source_sets, &fields.source_ports),
        ("to", &fields.destinations, &fields.destination_sets, &fields.destination_ports),
    ];
    for (preposition, prefixes, sets, ports) in ends {
        if let Some(end) = end(prefixes, sets.as_ref(), ports) {
            words = format!("{words} {preposition} {end}");
        }
    }
    if let Some(flags) = fields.tcp_flags {
        words = format!("{words} with {}", tcp_flags(flags));
    }
    if let Some(length) = fields.length {
        words = format!("{words} of {length} bytes");
    }
    if !fields.vlan_ids.is_empty() {
        words = format!("{words} in VLAN {}", any_of(&fields.vlan_ids));
    }
    words
}

/// What kind of packet it is: `IPv6 UDP fragments`.
fn kind(fields: &Fields) -> Option<String> {
    let version = fields.ip_version.map(|version| match version {
        IpVersion::V4 => "IPv4",
        IpVersion::V6 => "IPv6",
    });
    let frame = fields.frame.map(|kind| match kind {
        FrameKind::Arp => "ARP",
        FrameKind::LinkControl => "link control frames",
    });
    let fragment = fields.fragment.map(|part| match part {
        FragmentPart::First => "first fragments",
        FragmentPart::Later => "later fragments",
        FragmentPart::Any => "fragments",
    });
    // A protocol may be called IPv6, too.
    let protocol = fields.protocol.map(|number| match (protocol_name(number), version) {
        (name, Some(_)) if name.starts_with("IPv") => format!("protocol {name}"),
        (name, _) => name,
    });
    let icmp: Vec<String> = fields.icmp.iter().map(icmp).collect();
    let icmp = (!icmp.is_empty()).then(|| format!("type {}", any_of(&icmp)));
    let words =
        [frame.map(str::to_owned), version.map(str::to_owned), protocol, icmp, fragment.map(str::to_owned)];
    let given: Vec<String> = words.into_iter().flatten().collect();
    (!given.is_empty()).then(|| given.join(" "))
}

/// One end of a packet: prefixes and sets must both fit.
fn end(prefixes: &[IpNet], sets: Option<&SetReference>, ports: &[PortRange]) -> Option<String> {
    let prefixes = (!prefixes.is_empty()).then(|| any_of(&prefixes.iter().map(prefix).collect::<Vec<_>>()));
    let addresses = match (prefixes, sets.map(set_reference)) {
        (Some(prefixes), Some(sets)) => Some(format!("{prefixes} and {sets}")),
        (prefixes, sets) => prefixes.or(sets),
    };
    let ports = (!ports.is_empty()).then(|| format!("port {}", any_of(ports)));
    match (addresses, ports) {
        (Some(addresses), Some(ports)) => Some(format!("{addresses} {ports}")),
        (addresses, ports) => addresses.or(ports),
    }
}

/// One address needs no length behind it.
fn prefix(prefix: &IpNet) -> String {
    if prefix.prefix_len() == prefix.max_prefix_len() {
        prefix.addr().to_string()
    } else {
        prefix.to_string()
    }
}

fn set_reference(reference: &SetReference) -> String {
    let names = (!reference.names.is_empty()).then(|| format!("the sets {}", any_of(&reference.names)));
    let labelled = reference.selector.as_ref().map(|selector| format!("the sets with {}", labels(selector)));
    names.into_iter().chain(labelled).collect::<Vec<_>>().join(" or ")
}

fn labels(selector: &LabelSelector) -> String {
    let equal = selector.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().map(|expression| {
        let (key, values) =
            (&expression.key, expression.values.iter().flatten().cloned().collect::<Vec<_>>());
        match expression.operator.as_str() {
            "In" => format!("{key} in ({})", values.join(", ")),
            "NotIn" => format!("{key} not in ({})", values.join(", ")),
            "Exists" => key.clone(),
            _ => format!("no {key}"),
        }
    });
    equal.chain(expressions).collect::<Vec<_>>().join(" and ")
}

fn tcp_flags(TcpFlags { set, unset }: TcpFlags) -> String {
    let names = |bits: u8| {
        let given = TCP_FLAGS.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0);
        given.map(|(_, name)| *name).collect::<Vec<_>>()
    };
    let set = (set != 0).then(|| format!("{} set", names(set).join(" and ")));
    let unset = (unset != 0).then(|| format!("{} not set", names(unset).join(" and ")));
    set.into_iter().chain(unset).collect::<Vec<_>>().join(", ")
}

fn icmp(range: &IcmpRange) -> String {
    let IcmpRange { first_type, last_type, code } = range;
    let types =
        if first_type == last_type { first_type.to_string() } else { format!("{first_type}-{last_type}") };
    code.map_or_else(|| types.clone(), |code| format!("{types} code {code}"))
}
