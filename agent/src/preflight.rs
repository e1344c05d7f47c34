//! What this process may do, said at start: what it cannot do without is an error that names all that
//! is missing; what only costs a figure in status is a line in the log.

use rustix::thread::{CapabilitySet, capabilities};
use tracing::info;

/// A capability, and what it is for.
struct Need {
    capability: CapabilitySet,
    name: &'static str,
    what_for: &'static str,
}

const NEEDED: [Need; 3] = [
    Need { capability: CapabilitySet::BPF, name: "CAP_BPF", what_for: "load programs and make maps" },
    Need { capability: CapabilitySet::NET_ADMIN, name: "CAP_NET_ADMIN", what_for: "attach to interfaces" },
    Need {
        capability: CapabilitySet::PERFMON,
        name: "CAP_PERFMON",
        what_for: "load programs that compute with packet pointers",
    },
];
const USEFUL: Need = Need {
    capability: CapabilitySet::SYS_ADMIN,
    name: "CAP_SYS_ADMIN",
    what_for: "status then lacks the time per packet and the names of foreign programs",
};

/// Some of what the agent needs is missing.
#[derive(Debug, thiserror::Error)]
#[error("missing {missing}; run the agent as root, or grant it these capabilities")]
pub struct Missing {
    missing: String,
}

/// Checks the capabilities of this process.
pub fn check() -> Result<(), Missing> {
    let effective = match capabilities(None) {
        Ok(sets) => sets.effective,
        // Whoever may not even ask has none.
        Err(_) => CapabilitySet::empty(),
    };
    let missing = describe_missing(effective);
    if !missing.is_empty() {
        return Err(Missing { missing });
    }
    if !effective.contains(USEFUL.capability) {
        info!("running without {}: {}", USEFUL.name, USEFUL.what_for);
    }
    Ok(())
}

fn describe_missing(effective: CapabilitySet) -> String {
    // On kernels before CAP_BPF and CAP_PERFMON existed (5.8), and still, CAP_SYS_ADMIN includes them.
    let has = |need: &&Need| {
        effective.contains(need.capability)
            || (need.capability != CapabilitySet::NET_ADMIN && effective.contains(CapabilitySet::SYS_ADMIN))
    };
    let missing = NEEDED.iter().filter(|need| !has(need));
    missing.map(|need| format!("{} (to {})", need.name, need.what_for)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_missing_is_named() {
        assert_eq!(
            describe_missing(CapabilitySet::BPF),
            "CAP_NET_ADMIN (to attach to interfaces), \
             CAP_PERFMON (to load programs that compute with packet pointers)"
        );
    }

    #[test]
    fn the_right_to_administer_the_system_includes_bpf_but_not_the_network() {
        assert_eq!(describe_missing(CapabilitySet::SYS_ADMIN), "CAP_NET_ADMIN (to attach to interfaces)");
        assert_eq!(describe_missing(CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN), "");
    }
}
