//! Links read and watched in real network namespaces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rstest::rstest;
use sluice_dataplane::links::{AttachedMode, AttachedProgram, AttachedXdp, Link, LinkEvents, Netlink};
use sluice_testkit::{Feature, NetworkNamespace, require};

const SOON: Duration = Duration::from_secs(10);
const A_WHILE: Duration = Duration::from_millis(400);

/// Runs `test` on a runtime of its own inside a new namespace, or skips it.
fn inside(purpose: &str, test: impl AsyncFnOnce(&NetworkNamespace) + Send) {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let namespace = NetworkNamespace::new(purpose).unwrap();
    namespace.run(|| runtime().block_on(test(&namespace)));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn change(events: &mut LinkEvents) {
    tokio::time::timeout(SOON, events.changed()).await.expect("no change was reported").unwrap();
}

/// Waits until the links say so, woken by events only.
async fn until(events: &mut LinkEvents, netlink: &Netlink, what: &str, holds: impl Fn(&[Link]) -> bool) {
    let reached = async {
        while !holds(&netlink.links().await.unwrap()) {
            events.changed().await.unwrap();
        }
    };
    tokio::time::timeout(SOON, reached).await.unwrap_or_else(|_| panic!("not reached: {what}"));
}

/// Takes the events that are still on their way, until none came for a while.
async fn settle(events: &mut LinkEvents) {
    while tokio::time::timeout(A_WHILE, events.changed()).await.is_ok() {}
}

fn named<'a>(links: &'a [Link], name: &str) -> Option<&'a Link> {
    links.iter().find(|link| link.name == name)
}

#[test]
fn a_veth_pair_as_the_kernel_describes_it() {
    inside("links-veth", async |namespace| {
        namespace.ip("link add v0 numrxqueues 4 numtxqueues 2 mtu 1700 type veth peer name v1").unwrap();
        namespace.ip("link set v1 up").unwrap();
        let links = Netlink::open().unwrap().links().await.unwrap();
        let (v0, v1) = (named(&links, "v0").unwrap(), named(&links, "v1").unwrap());
        assert_eq!(links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["lo", "v1", "v0"]);
        assert_eq!((v0.kind.as_deref(), v0.driver.as_deref(), v0.mtu), (Some("veth"), Some("veth"), 1700));
        assert_eq!((v0.rx_queues, v0.tx_queues, v0.link_type), (4, 2, 1));
        assert_eq!((v0.parent, v1.parent), (Some(v1.ifindex), Some(v0.ifindex)));
        assert_eq!((v0.up, v1.up, v0.peer_in_other_namespace), (false, true, false));
        assert_eq!((v0.bus_address.as_deref(), v0.xdp.as_ref(), v0.master.as_ref()), (None, None, None));
        let lo = named(&links, "lo").unwrap();
        assert_eq!((lo.kind.as_deref(), lo.driver.as_deref(), lo.link_type), (None, None, 772));
    });
}

#[test]
fn one_link_alone_is_the_same_as_in_the_list() {
    inside("links-one", async |namespace| {
        namespace.ip("link add v0 type veth peer name v1").unwrap();
        let netlink = Netlink::open().unwrap();
        for link in netlink.links().await.unwrap() {
            assert_eq!(netlink.link(link.ifindex).await.unwrap(), Some(link));
        }
        assert_eq!(netlink.link(9999).await.unwrap(), None);
    });
}

#[rstest]
#[case::rename("link set v0 name lan0", |links: &[Link]| named(links, "lan0").is_some() && named(links, "v0").is_none())]
#[case::alternative_name("link property add dev v1 altname quite-a-long-alternative-name", |links: &[Link]| {
    named(links, "v1").unwrap().alternative_names == ["quite-a-long-alternative-name"]
})]
#[case::mtu("link set v0 mtu 9000", |links: &[Link]| named(links, "v0").unwrap().mtu == 9000)]
#[case::up("link set v0 up", |links: &[Link]| named(links, "v0").unwrap().up)]
#[case::down("link set v1 down", |links: &[Link]| !named(links, "v1").unwrap().up)]
#[case::added("link add v2 type veth peer name v3", |links: &[Link]| named(links, "v2").is_some())]
#[case::deleted("link del v0", |links: &[Link]| named(links, "v0").is_none() && named(links, "v1").is_none())]
#[case::enslaved("link set v0 master br0", |links: &[Link]| {
    let (master, bridge) = (named(links, "v0").unwrap().master.as_ref(), named(links, "br0").unwrap());
    master.is_some_and(|master| master.ifindex == bridge.ifindex && master.kind.as_deref() == Some("bridge"))
})]
fn a_change_is_reported_and_readable(#[case] command: &str, #[case] holds: fn(&[Link]) -> bool) {
    inside("links-change", async |namespace| {
        namespace.ip("link add v0 type veth peer name v1").unwrap();
        namespace.ip("link set v1 up").unwrap();
        namespace.ip("link add br0 type bridge").unwrap();
        let (netlink, mut events) = (Netlink::open().unwrap(), LinkEvents::subscribe().unwrap());
        settle(&mut events).await;
        assert!(!holds(&netlink.links().await.unwrap()), "nothing has been changed yet");
        namespace.ip(command).unwrap();
        change(&mut events).await;
        until(&mut events, &netlink, command, holds).await;
    });
}

#[test]
fn a_link_that_moves_away_is_gone_here_and_arrives_there() {
    inside("links-move", async |here| {
        here.ip("link add v0 type veth peer name v1").unwrap();
        let there = NetworkNamespace::new("links-there").unwrap();
        // Sockets stay in the namespace in which they were opened.
        let netlink_there = there.run(|| Netlink::open().unwrap());
        let (netlink, mut events) = (Netlink::open().unwrap(), LinkEvents::subscribe().unwrap());
        here.ip(&format!("link set v1 netns {}", there.name())).unwrap();
        until(&mut events, &netlink, "v1 is gone, v0 has a peer elsewhere", |links| {
            let v0 = named(links, "v0").unwrap();
            named(links, "v1").is_none() && v0.peer_in_other_namespace && v0.parent.is_none()
        })
        .await;
        let arrived = netlink_there.links().await.unwrap();
        assert!(named(&arrived, "v1").unwrap().peer_in_other_namespace);
        assert_eq!(named(&arrived, "v1").unwrap().driver.as_deref(), Some("veth"), "ethtool asks there too");
    });
}

#[test]
fn changed_channels_are_reported() {
    if !require(Feature::Program("ethtool")) {
        return;
    }
    inside("links-channels", async |namespace| {
        namespace.ip("link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1").unwrap();
        let (netlink, mut events) = (Netlink::open().unwrap(), LinkEvents::subscribe().unwrap());
        settle(&mut events).await;
        let links = netlink.links().await.unwrap();
        let before = named(&links, "v0").unwrap().channels.unwrap();
        assert_eq!((before.rx, before.max_rx, before.max_tx, before.combined), (4, 4, 4, 0));
        namespace.call("ethtool -L v0 rx 2 tx 3").unwrap();
        change(&mut events).await;
        until(&mut events, &netlink, "two and three channels", |links| {
            let channels = named(links, "v0").unwrap().channels.unwrap();
            (channels.rx, channels.tx, channels.max_rx) == (2, 3, 4)
        })
        .await;
    });
}

#[test]
fn an_attached_program_is_shown_with_mode_and_id() {
    if !require(Feature::Bpf) || !require(Feature::Program("xdp-loader")) {
        return;
    }
    inside("links-xdp", async |namespace| {
        namespace.ip("link add v0 type veth peer name v1").unwrap();
        let (netlink, object) = (Netlink::open().unwrap(), program_of_xdp_tools());
        for (word, mode) in [("xdpgeneric", AttachedMode::Generic), ("xdpdrv", AttachedMode::Native)] {
            namespace.ip(&format!("link set dev v0 {word} obj {} sec xdp", object.display())).unwrap();
            let shown = namespace.ip("link show v0").unwrap();
            let program_id =
                shown.split("prog/xdp id ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
            let program_id = program_id.parse().unwrap();
            let links = netlink.links().await.unwrap();
            let expected =
                AttachedXdp { mode, program_id, programs: vec![AttachedProgram { mode, program_id }] };
            assert_eq!(named(&links, "v0").unwrap().xdp, Some(expected));
            assert_eq!(named(&links, "v1").unwrap().xdp, None);
            namespace.ip(&format!("link set dev v0 {word} off")).unwrap();
        }
        assert_eq!(named(&netlink.links().await.unwrap(), "v0").unwrap().xdp, None);
    });
}

/// An object that comes with xdp-tools, whatever the architecture's folder is called.
fn program_of_xdp_tools() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().map(|entry| entry.unwrap().path());
    let candidates = folders.map(|folder| folder.join("bpf/xdpdump_xdp.o"));
    candidates.chain([PathBuf::from("/usr/lib/bpf/xdpdump_xdp.o")]).find(|path| path.exists()).unwrap()
}

#[test]
fn a_name_of_odd_bytes_is_a_link_like_any_other() {
    inside("links-odd", async |namespace| {
        let mut command = namespace.command("ip");
        command.args(["link", "add"]).arg(OsStr::from_bytes(b"\xff\xfe"));
        let status =
            command.args(["numrxqueues", "3", "type", "veth", "peer", "name", "v1"]).status().unwrap();
        assert!(status.success());
        let links = Netlink::open().unwrap().links().await.unwrap();
        let odd = named(&links, r"\xff\xfe").unwrap();
        assert_eq!((odd.driver.as_deref(), odd.channels.unwrap().max_rx), (Some("veth"), 3));
    });
}

#[test]
fn what_repeats_or_says_nothing_wakes_nobody() {
    inside("links-noise", async |namespace| {
        namespace.ip("link add v0 type veth peer name v1").unwrap();
        let mut events = LinkEvents::subscribe().unwrap();
        namespace.ip("link set v0 mtu 1400").unwrap();
        namespace.ip("link set v0 up").unwrap();
        settle(&mut events).await;
        for command in ["txqueuelen 77", "alias of-no-interest", "group 7"] {
            namespace.ip(&format!("link set v0 {command}")).unwrap();
        }
        tokio::time::timeout(A_WHILE, events.changed()).await.expect_err("woken by nothing new");
        namespace.ip("link set v0 mtu 1450").unwrap();
        change(&mut events).await;
    });
}

#[test]
fn nothing_is_lost_when_the_waiting_is_given_up_and_begun_again() {
    inside("links-cancel", async |namespace| {
        let mut events = LinkEvents::subscribe().unwrap();
        namespace.ip("link add v0 type veth peer name v1").unwrap();
        // Takes the message from the socket, and is dropped before the burst is over.
        let waiting = tokio::time::timeout(Duration::from_millis(1), events.changed());
        waiting.await.expect_err("too early to report");
        change(&mut events).await;
    });
}

#[test]
fn an_overrun_counts_as_a_change_and_loses_no_link() {
    inside("links-overrun", async |namespace| {
        let (netlink, mut events) = (Netlink::open().unwrap(), LinkEvents::subscribe().unwrap());
        // Far more than the socket's buffer holds while nobody reads.
        let lines: Vec<String> =
            (0..300).map(|n| format!("link add a{n} type veth peer name b{n}")).collect();
        batch(namespace, &lines.join("\n"));
        change(&mut events).await;
        assert!(events.overruns() > 0);
        assert_eq!(netlink.links().await.unwrap().len(), 601);
        settle(&mut events).await;
        namespace.ip("link del a7").unwrap();
        until(&mut events, &netlink, "two less", |links| links.len() == 599).await;
    });
}

#[test]
fn a_storm_is_reported_while_it_lasts_but_seldom() {
    inside("links-storm", async |namespace| {
        let mut events = LinkEvents::subscribe().unwrap();
        let start = std::time::Instant::now();
        let storm = namespace.spawn("storm", {
            let name = namespace.name().to_owned();
            move || {
                while start.elapsed() < Duration::from_secs(2) {
                    let ip = |words: &[&str]| {
                        std::process::Command::new("ip").args(["-n", &name]).args(words).status()
                    };
                    ip(&["link", "add", "v0", "type", "veth", "peer", "name", "v1"]).unwrap();
                    ip(&["link", "del", "v0"]).unwrap();
                }
            }
        });
        let mut reports = 0_u32;
        while !storm.is_finished() {
            if tokio::time::timeout(A_WHILE, events.changed()).await.is_ok() {
                reports += 1;
            }
        }
        storm.join().unwrap();
        assert!((3..=14).contains(&reports), "{reports} reports in two seconds");
    });
}

fn batch(namespace: &NetworkNamespace, lines: &str) {
    use std::io::Write as _;
    let mut command = namespace.command("ip");
    let mut child = command.args(["-batch", "-"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}
