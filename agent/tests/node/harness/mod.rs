//! A node for one test: a lab, an agent's folders, and the kernel's own words about both. It asks the
//! kernel with `ip`, not with the agent's code.

mod agent;
mod policy;
mod swap;

use std::{
    fs,
    net::{SocketAddr, UdpSocket},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use sluice_testkit::{BpffsDir, Feature, NetworkNamespace, VethLab, require, traffic::UdpSink, wait_until};
use tempfile::TempDir;

pub use agent::{Agent, counted, interface, policy_rules, policy_status, problems, wait_for_exit};
pub use policy::{PolicyText, drops};
pub use swap::{BeforeSwap, Moment};

/// Long enough for a machine that does several other things.
pub const SOON: Duration = Duration::from_secs(20);

/// A lab and an agent's folders. Several agents may come and go on it.
pub struct Node {
    /// The agent works on `lab.node`; `lab.peer` is the world.
    pub lab: VethLab,
    bpffs: BpffsDir,
    files: TempDir,
}

impl Node {
    /// `None`: this machine cannot run the test, and has said so.
    pub fn new(purpose: &str) -> Option<Self> {
        can_run().then(|| Self::around(VethLab::options(purpose).silent().build().unwrap(), purpose))
    }

    /// The same on a lab with other properties.
    pub fn around(lab: VethLab, purpose: &str) -> Self {
        let files = tempfile::tempdir().unwrap();
        fs::create_dir(files.path().join("policies")).unwrap();
        Self { lab, bpffs: BpffsDir::new(purpose).unwrap(), files }
    }

    /// The device that the peer sends to.
    pub fn device(&self) -> &str {
        &self.lab.node.device
    }

    /// Where the agent works.
    pub fn namespace(&self) -> &NetworkNamespace {
        &self.lab.node.namespace
    }

    /// Runs `ip` where the agent works.
    pub fn ip(&self, words: &str) -> String {
        self.namespace().ip(words).unwrap()
    }

    /// Any file of this node.
    pub fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// The folder that the agent watches.
    pub fn policies(&self) -> PathBuf {
        self.path("policies")
    }

    /// The agent's folder in bpffs; the agent makes it.
    pub fn pin_path(&self) -> PathBuf {
        self.bpffs.path().join("sluice")
    }

    /// Every pin of the agent.
    pub fn pins(&self) -> Vec<PathBuf> {
        self.bpffs.pins().unwrap()
    }

    /// The pins of programs.
    pub fn program_pins(&self) -> Vec<PathBuf> {
        let mut pins = self.pins();
        pins.retain(|pin| pin.to_string_lossy().contains("/program_"));
        pins
    }

    /// Writes a policy file as a careful user does: aside, then renamed into place.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let aside = self.path(&format!("{name}.aside"));
        fs::write(&aside, content).unwrap();
        fs::rename(&aside, self.policies().join(name)).unwrap();
    }

    /// Removes a policy file.
    pub fn remove(&self, name: &str) {
        fs::remove_file(self.policies().join(name)).unwrap();
    }

    /// Starts an agent and waits until it answers.
    pub fn start(&self) -> Agent {
        self.start_with(&[])
    }

    /// The same with further arguments.
    pub fn start_with(&self, arguments: &[&str]) -> Agent {
        Agent::start(self, arguments)
    }

    /// Sends UDP datagrams of one byte from the peer.
    pub fn send(&self, packets: u64, port: u16) {
        let to = self.address(port);
        self.lab.peer.namespace.run(|| {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            for _ in 0..packets {
                socket.send_to(b"x", to).unwrap();
            }
        });
    }

    /// A UDP port of the node.
    pub fn address(&self, port: u16) -> SocketAddr {
        (self.lab.node.ipv4, port).into()
    }

    /// Counts what reaches a UDP port of the node.
    pub fn sink(&self, port: u16) -> UdpSink {
        UdpSink::start(self.namespace(), self.address(port)).unwrap()
    }

    /// Sends to a port that is dropped and then to one that is not: when the second has arrived, so would
    /// have the first.
    pub fn assert_drops(&self, dropped: u16) {
        let (silent, open) = (self.sink(dropped), self.sink(40_000));
        self.send(10, dropped);
        self.send(1, 40_000);
        wait_until(SOON, "the packet to the open port", || open.received() == 1);
        assert_eq!(silent.received(), 0, "port {dropped} is dropped");
    }

    /// What a port receives that is not dropped.
    pub fn assert_passes(&self, port: u16) {
        let sink = self.sink(port);
        self.send(3, port);
        wait_until(SOON, "the packets to arrive", || sink.received() == 3);
    }

    /// The program on the node's device.
    pub fn program(&self) -> Option<Program> {
        program(self.namespace(), self.device())
    }
}

/// Whether this machine can run agents in namespaces.
pub fn can_run() -> bool {
    [Feature::Root, Feature::NetworkNamespaces, Feature::Bpf].into_iter().all(require)
}

/// An XDP program, as `ip` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Native or Generic.
    pub mode: &'static str,
    /// The kernel's id.
    pub id: u32,
    /// The name.
    pub name: String,
}

/// The program on a device; `None` too if there is no such device.
pub fn program(namespace: &NetworkNamespace, device: &str) -> Option<Program> {
    let shown = namespace.ip(&format!("-json -details link show dev {device}")).ok()?;
    let links: Value = serde_json::from_str(&shown).unwrap();
    let xdp = links[0].get("xdp")?;
    let mode = match xdp["mode"].as_u64() {
        Some(1) => "Native",
        Some(2) => "Generic",
        other => panic!("XDP mode {other:?} on {device}"),
    };
    let id = xdp["prog"]["id"].as_u64().unwrap();
    let name = xdp["prog"]["name"].as_str().unwrap_or_default().to_owned();
    Some(Program { mode, id: u32::try_from(id).unwrap(), name })
}

/// A device's index.
pub fn ifindex(namespace: &NetworkNamespace, device: &str) -> u32 {
    let shown = namespace.ip(&format!("-oneline link show dev {device}")).unwrap();
    shown.split(':').next().unwrap().parse().unwrap()
}

/// Whether a path is there, of whatever kind.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
