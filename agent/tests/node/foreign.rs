//! Programs of somebody else: never replaced, never removed, and named in status.

use std::{fs, path::PathBuf};

use rstest::rstest;
use sluice_ipc::v1alpha1::{PolicyState, StatusReply};
use sluice_testkit::{Feature, require, wait_until};

use crate::harness::{Node, Program, SOON, drops, interface, policy_status};

/// Another tool that attaches programs.
#[derive(Clone, Copy, Debug)]
enum Tool {
    Ip,
    XdpLoader,
}

impl Tool {
    fn attach(self, node: &Node, mode: &str) -> Program {
        let (device, object) = (node.device(), object().display().to_string());
        let words = match (self, mode) {
            (Self::Ip, "Native") => format!("ip link set dev {device} xdpdrv object {object} section xdp"),
            (Self::Ip, _) => format!("ip link set dev {device} xdpgeneric object {object} section xdp"),
            (Self::XdpLoader, "Native") => format!("xdp-loader load --mode native {device} {object}"),
            (Self::XdpLoader, _) => format!("xdp-loader load --mode skb {device} {object}"),
        };
        self.call(node, &words);
        let program = node.program().expect("the other tool has attached its program");
        assert_eq!(program.mode, mode);
        program
    }

    fn detach(self, node: &Node, mode: &str) {
        let device = node.device();
        let words = match (self, mode) {
            (Self::Ip, "Native") => format!("ip link set dev {device} xdpdrv off"),
            (Self::Ip, _) => format!("ip link set dev {device} xdpgeneric off"),
            (Self::XdpLoader, _) => format!("xdp-loader unload --all {device}"),
        };
        self.call(node, &words);
    }

    fn call(self, node: &Node, words: &str) {
        match self {
            Self::Ip => drop(node.namespace().call(words).unwrap()),
            // It gives up where another xdp-loader of the machine is at work.
            Self::XdpLoader => wait_until(SOON, words, || node.namespace().call(words).is_ok()),
        }
    }
}

/// A program that comes with the packaged tools and passes everything.
fn object() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").unwrap().map(|entry| entry.unwrap().path().join("bpf"));
    let objects = folders.chain(["/usr/lib/bpf".into()]).map(|folder| folder.join("xsk_def_xdp_prog_5.3.o"));
    objects.into_iter().find(|path| path.is_file()).expect("the objects of libxdp are beside xdp-loader")
}

fn node(purpose: &str) -> Option<Node> {
    require(Feature::Program("xdp-loader")).then(|| Node::new(purpose)).flatten()
}

fn is_held(status: &StatusReply, node: &Node) -> bool {
    interface(status, node.device()).is_some_and(|interface| interface.reason == "ForeignProgram")
}

#[rstest]
#[case::ip_native_auto(Tool::Ip, "Native", "Auto")]
#[case::ip_native_native(Tool::Ip, "Native", "Native")]
#[case::ip_native_generic(Tool::Ip, "Native", "Generic")]
#[case::ip_generic_auto(Tool::Ip, "Generic", "Auto")]
#[case::ip_generic_native(Tool::Ip, "Generic", "Native")]
#[case::ip_generic_generic(Tool::Ip, "Generic", "Generic")]
#[case::loader_native_auto(Tool::XdpLoader, "Native", "Auto")]
#[case::loader_native_generic(Tool::XdpLoader, "Native", "Generic")]
#[case::loader_generic_auto(Tool::XdpLoader, "Generic", "Auto")]
#[case::loader_generic_native(Tool::XdpLoader, "Generic", "Native")]
fn a_foreign_program_outlives_start_retry_stop_and_cleanup_and_is_named(
    #[case] tool: Tool,
    #[case] theirs: &'static str,
    #[case] asked: &'static str,
) {
    let Some(node) = node("foreign") else { return };
    let foreign = tool.attach(&node, theirs);
    node.put("policy.yaml", drops("web", node.device(), asked, &[9]));
    let mut agent = node.start();
    let status = agent.wait("who holds the interface", |status| is_held(status, &node));
    let held = interface(&status, node.device()).unwrap();
    let named = held.foreign_program.as_ref().unwrap();
    assert_eq!(
        (named.id, named.name.as_str(), named.mode.as_str()),
        (foreign.id, foreign.name.as_str(), theirs)
    );
    assert!(
        held.message.contains(&foreign.id.to_string()) && held.message.contains(&foreign.name),
        "{}",
        held.message
    );
    assert_eq!((held.mode_in_force.as_str(), held.program_id), ("", 0));
    assert_eq!(policy_status(&status, "web").unwrap().state(), PolicyState::NotProgrammed);
    assert_eq!(node.program().as_ref(), Some(&foreign), "after the start");
    // A changed policy and a changed link are each another try.
    node.put("policy.yaml", drops("web", node.device(), asked, &[9, 10]));
    node.put("other.yaml", drops("other", "absent0", "Auto", &[9]));
    agent.wait("the changed policy", |status| policy_status(status, "other").is_some());
    node.ip(&format!("link set dev {} mtu 1400", node.device()));
    agent.wait("the changed link", |status| interface(status, node.device()).unwrap().mtu == 1400);
    assert!(is_held(&agent.status(), &node));
    assert_eq!(node.program().as_ref(), Some(&foreign), "after retries");
    assert!(node.pins().is_empty(), "{:?}", node.pins());
    agent.terminate();
    assert_eq!(node.program().as_ref(), Some(&foreign), "after the stop");
    sluice_dataplane::cleanup::run(&node.pin_path()).unwrap();
    assert_eq!(node.program(), Some(foreign), "after the cleanup");
    tool.detach(&node, theirs);
}

#[rstest]
#[case::ip_native(Tool::Ip, "Native")]
#[case::ip_generic(Tool::Ip, "Generic")]
#[case::loader_native(Tool::XdpLoader, "Native")]
#[case::loader_generic(Tool::XdpLoader, "Generic")]
fn an_interface_is_programmed_when_the_foreign_program_has_gone(
    #[case] tool: Tool,
    #[case] theirs: &'static str,
) {
    let Some(node) = node("freed") else { return };
    tool.attach(&node, theirs);
    node.put("policy.yaml", drops("web", node.device(), "Auto", &[9]));
    let agent = node.start();
    agent.wait("who holds the interface", |status| is_held(status, &node));
    tool.detach(&node, theirs);
    // Not every way to detach is an event, but this is one.
    node.ip(&format!("link set dev {} mtu 1400", node.device()));
    let interface = agent.wait_for_rules(node.device(), &["port-9"]);
    assert_eq!((interface.mode_in_force.as_str(), interface.reason.as_str()), ("Native", ""));
    assert_eq!(interface.foreign_program, None);
    node.assert_drops(9);
}

#[test]
fn a_foreign_program_on_one_interface_does_not_hold_up_another() {
    let Some(node) = node("beside") else { return };
    Tool::Ip.attach(&node, "Native");
    node.ip("link add free0 type veth peer name free1");
    node.put("policy.yaml", drops("web", &format!("{}, free0", node.device()), "Auto", &[9]));
    let agent = node.start();
    agent.wait_for_rules("free0", &["port-9"]);
    let status = agent.status();
    assert!(is_held(&status, &node));
    let policy = policy_status(&status, "web").unwrap();
    assert_eq!(
        (policy.state(), policy.interfaces.as_slice()),
        (PolicyState::NotProgrammed, &["free0".to_owned()][..])
    );
}
