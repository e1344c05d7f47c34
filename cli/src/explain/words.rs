//! Selectors, matches and actions in words.

use sluice_policy::{Action, Matcher, protocol_name};

use super::report::ExplainedSelector;

/// `names eth*, lan0 with driver ixgbe`.
pub fn selector(selector: &ExplainedSelector) -> String {
    let lists =
        [("name", &selector.names), ("driver", &selector.drivers), ("PCI address", &selector.pci_addresses)];
    let given = lists.iter().filter(|(_, values)| !values.is_empty());
    given.map(|(what, values)| format!("{what} {}", values.join(" or "))).collect::<Vec<_>>().join(", and ")
}

/// `UDP to port 9 or 100-200`.
pub fn matcher(matcher: &Matcher) -> String {
    let protocol = matcher.fields.protocol.map(protocol_name);
    if matcher.fields.destination_ports.is_empty() {
        return protocol.unwrap_or_else(|| "every packet".into());
    }
    let ports: Vec<_> = matcher.fields.destination_ports.iter().map(ToString::to_string).collect();
    format!("{} to port {}", protocol.unwrap_or_else(|| "any protocol".into()), ports.join(" or "))
}

/// What happens to a packet that matches.
pub const fn action(action: &Action) -> &'static str {
    match action {
        Action::Drop => "drop it",
        Action::Pass => "pass it to the host",
        Action::Count => "count it and go on",
        Action::RateLimit(_) => "drop what exceeds the rate, go on with the rest",
        Action::Mark(_) => "mark it and go on",
        Action::Steer(_) => "pass it on another CPU",
        Action::Socket(_) => "hand it to a socket",
    }
}
