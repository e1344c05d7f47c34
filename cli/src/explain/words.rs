//! Selectors, matches, actions and changes of the failsafe in words. It decides nothing.

mod action;
mod failsafe;
mod lists;
mod matcher;

pub use action::action;
pub use failsafe::{changes, services};
pub use matcher::matcher;

use super::report::ExplainedSelector;

/// `name eth* or lan0, and driver ixgbe`.
pub fn selector(selector: &ExplainedSelector) -> String {
    let lists =
        [("name", &selector.names), ("driver", &selector.drivers), ("PCI address", &selector.pci_addresses)];
    let given = lists.iter().filter(|(_, values)| !values.is_empty());
    given.map(|(what, values)| format!("{what} {}", values.join(" or "))).collect::<Vec<_>>().join(", and ")
}

#[cfg(test)]
mod tests;
