//! Which room may use which: arrows point down only, and one that is not listed here is refused.
//! `ARCHITECTURE.md` draws them.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

struct Room {
    name: &'static str,
    may_use: &'static [&'static str],
    /// Crates from outside that would make the room what it must not be.
    never: &'static [&'static str],
}

const KERNEL: [&str; 2] = ["aya", "libc"];
const TEST_KIT: &str = "sluice-testkit";
/// What only tests may use beside the test kit: whose tests, and which room.
const IN_TESTS: [(&str, &str); 1] = [("sluice-ebpf", "sluice-prefix-table")];

const ROOMS: [Room; 11] = [
    Room {
        name: "sluice-agent",
        may_use: &[
            "sluice-api",
            "sluice-dataplane",
            "sluice-ebpf-common",
            "sluice-ipc",
            "sluice-policy",
            "sluice-prefix-table",
        ],
        never: &["aya"],
    },
    Room {
        name: "sluicectl",
        may_use: &["sluice-api", "sluice-dataplane", "sluice-ipc", "sluice-policy"],
        never: &KERNEL,
    },
    Room { name: "sluice-ebpf", may_use: &["sluice-ebpf-common"], never: &[] },
    Room {
        name: "sluice-dataplane",
        may_use: &["sluice-ebpf-common", "sluice-prefix-table"],
        never: &["kube", "serde_json", "tonic"],
    },
    Room {
        name: "sluice-policy",
        may_use: &["sluice-api", "sluice-ebpf-common", "sluice-prefix-table"],
        never: &["aya", "kube", "libc", "rustix", "tokio", "tonic"],
    },
    Room {
        name: "sluice-prefix-table",
        may_use: &["sluice-ebpf-common"],
        never: &["aya", "kube", "libc", "rustix", "tokio"],
    },
    Room { name: "sluice-ipc", may_use: &[], never: &["aya", "kube"] },
    Room { name: "sluice-api", may_use: &[], never: &["aya", "tokio", "tonic"] },
    Room { name: "sluice-ebpf-common", may_use: &[], never: &["kube", "serde", "tokio"] },
    Room { name: TEST_KIT, may_use: &["sluice-ebpf-common"], never: &["aya", "kube", "tokio"] },
    Room {
        name: "xtask",
        may_use: &[
            "sluice-api",
            "sluice-dataplane",
            "sluice-ebpf-common",
            "sluice-ipc",
            "sluice-policy",
            TEST_KIT,
        ],
        never: &[],
    },
];

#[derive(Clone, Debug, PartialEq)]
struct Arrow {
    from: String,
    to: String,
    /// Used by tests only.
    dev: bool,
    /// To another room of this workspace.
    inside: bool,
}

pub fn check() -> Result<()> {
    let wrong = problems(&read()?);
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

fn read() -> Result<BTreeMap<String, Vec<Arrow>>> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .context("start cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("read cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    packages.iter().map(room).collect()
}

fn room(package: &Value) -> Result<(String, Vec<Arrow>)> {
    let from = package["name"].as_str().context("a package has no name")?;
    let arrow = |dependency: &Value| {
        Some(Arrow {
            from: from.to_owned(),
            to: dependency["name"].as_str()?.to_owned(),
            dev: dependency["kind"] == "dev",
            inside: !dependency["path"].is_null(),
        })
    };
    let dependencies = package["dependencies"].as_array().context("a package has no dependencies")?;
    Ok((from.to_owned(), dependencies.iter().filter_map(arrow).collect()))
}

fn problems(found: &BTreeMap<String, Vec<Arrow>>) -> Vec<String> {
    let unknown = found.keys().filter(|name| rule(name).is_none()).map(|name| {
        format!("the room {name} is not in the table of xtask/src/lint/arrows.rs: say there what it may use")
    });
    unknown.chain(found.values().flatten().filter_map(problem)).collect()
}

fn rule(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

fn problem(arrow: &Arrow) -> Option<String> {
    let Arrow { from, to, .. } = arrow;
    let room = rule(from)?;
    let in_tests = to == TEST_KIT || IN_TESTS.contains(&(from.as_str(), to.as_str()));
    if arrow.inside && !room.may_use.contains(&to.as_str()) && !(arrow.dev && in_tests) {
        return Some(format!("{from} must not use {to}: arrows point down only (xtask/src/lint/arrows.rs)"));
    }
    if !arrow.inside && !arrow.dev && room.never.contains(&to.as_str()) {
        return Some(format!(
            "{from} must not use {to}: that is another room's work (xtask/src/lint/arrows.rs)"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Arrow, ROOMS, problem, problems, read, rule};
    use std::collections::BTreeMap;

    fn arrow(from: &str, to: &str, dev: bool) -> Arrow {
        Arrow { from: from.into(), to: to.into(), dev, inside: to.starts_with("sluice") }
    }

    #[test]
    fn arrows_that_point_up_or_sideways_are_refused() {
        for (from, to) in [
            ("sluice-policy", "sluice-dataplane"),
            ("sluice-dataplane", "sluice-policy"),
            ("sluice-ipc", "sluice-api"),
            ("sluicectl", "sluice-agent"),
            ("sluice-agent", "sluice-testkit"),
            ("sluice-policy", "tokio"),
        ] {
            assert!(problem(&arrow(from, to, false)).is_some(), "{from} -> {to}");
        }
    }

    #[test]
    fn listed_arrows_and_the_test_kit_in_tests_are_fine() {
        assert_eq!(problem(&arrow("sluice-agent", "sluice-policy", false)), None);
        assert_eq!(problem(&arrow("sluice-ipc", "sluice-testkit", true)), None);
        assert_eq!(problem(&arrow("sluice-policy", "tokio", true)), None);
        assert_eq!(problem(&arrow("sluice-ebpf", "sluice-prefix-table", true)), None);
        assert!(problem(&arrow("sluice-ebpf", "sluice-prefix-table", false)).is_some());
        assert!(problem(&arrow("sluice-policy", "sluice-dataplane", true)).is_some());
    }

    #[test]
    fn a_room_that_is_not_listed_is_named() {
        let found = BTreeMap::from([("sluice-new".to_owned(), vec![])]);
        assert!(problems(&found)[0].contains("sluice-new"));
    }

    #[test]
    fn the_table_has_no_way_back_up() {
        fn reaches(from: &str, to: &str) -> bool {
            rule(from).is_some_and(|room| room.may_use.iter().any(|next| *next == to || reaches(next, to)))
        }
        assert!(ROOMS.iter().all(|room| !reaches(room.name, room.name)));
    }

    #[test]
    fn this_workspace_is_read() {
        let found = read().unwrap();
        assert!(found["sluice-agent"].contains(&arrow("sluice-agent", "sluice-policy", false)));
        assert!(found["sluice-agent"].contains(&arrow("sluice-agent", "sluice-testkit", true)));
    }
}
