//! A node with pins, the probe's XDP program that writes metadata, and its TC program that looks.

use std::{ffi::CString, path::PathBuf, time::Duration};

use aya::{
    Ebpf, EbpfLoader,
    maps::{Array, HashMap},
    programs::{LinkOrder, SchedClassifier, TcAttachType, Xdp, XdpMode, tc::TcAttach},
};
use sluice_dataplane::{
    Error,
    bpffs::PinFolder,
    marks::{MarkHook, Marks},
    test_programs::MARK_PROBE,
};
use sluice_ebpf_common::Metadata;
use sluice_testkit::{BpffsDir, Feature, Frame, VethLab, require, wait_until};

const PATIENCE: Duration = Duration::from_secs(10);

pub struct Node {
    pub lab: VethLab,
    pub bpffs: BpffsDir,
    pub hook: MarkHook,
}

impl Node {
    pub fn new(purpose: &str, hook: MarkHook) -> Option<Self> {
        Self::with_mtu(purpose, hook, 1500)
    }

    pub fn with_mtu(purpose: &str, hook: MarkHook, mtu: u32) -> Option<Self> {
        let mut needed =
            vec![Feature::Root, Feature::NetworkNamespaces, Feature::Bpf, Feature::Program("tc")];
        if hook == MarkHook::Tcx {
            needed.push(Feature::Tcx);
        }
        if !needed.into_iter().all(require) {
            return None;
        }
        let lab = VethLab::options(purpose).mtu(mtu).silent().build().unwrap();
        Some(Self { lab, bpffs: BpffsDir::new(purpose).unwrap(), hook })
    }

    pub fn pins(&self) -> PinFolder {
        PinFolder::open(&self.pin_path()).unwrap()
    }

    pub fn pin_path(&self) -> PathBuf {
        self.bpffs.path().join("sluice")
    }

    /// The interface's folder of pins.
    pub fn folder(&self) -> PathBuf {
        self.pin_path().join(self.ifindex().to_string())
    }

    pub fn ifindex(&self) -> u32 {
        self.lab.node.ifindex
    }

    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.lab.node.namespace.run(work)
    }

    /// As the agent would, but by the hook under test.
    pub fn ensure(&self, pins: &PinFolder) -> Result<Marks, Error> {
        self.inside(|| Marks::ensure_by(self.hook, pins, self.ifindex()))
    }

    pub fn adopt(&self, pins: &PinFolder) -> Option<Marks> {
        self.inside(|| Marks::adopt(pins, self.ifindex())).unwrap()
    }

    pub fn is_attached(&self, marks: &Marks) -> bool {
        self.inside(|| marks.is_attached()).unwrap()
    }

    pub fn remove(&self, marks: &Marks) {
        self.inside(|| marks.remove()).unwrap();
    }

    /// Runs `tc`; `DEV` stands for the node's device.
    pub fn tc(&self, words: &str) -> String {
        self.lab.node.namespace.call(&format!("tc {}", words.replace("DEV", &self.lab.node.device))).unwrap()
    }

    /// Filters and qdiscs that somebody could see, without what changes by itself.
    pub fn shown(&self) -> String {
        ["qdisc show dev DEV", "filter show dev DEV ingress", "filter show dev DEV egress"]
            .map(|words| self.tc(words))
            .concat()
    }

    /// A frame to the node, with a UDP datagram to `port`.
    pub fn frame(&self, tag: Option<u16>, port: u16, payload: usize) -> Vec<u8> {
        let (node, peer) = (&self.lab.node, &self.lab.peer);
        let frame = Frame::ethernet(peer.mac, node.mac);
        let frame = tag.into_iter().fold(frame, Frame::vlan);
        frame.ipv4(peer.ipv4, node.ipv4).udp(5000, port).payload(&vec![0; payload]).pad_to(60).build()
    }

    pub fn send(&self, frames: &[Vec<u8>]) {
        let peer = &self.lab.peer;
        sluice_testkit::traffic::send(&peer.namespace, &peer.device, frames).unwrap();
    }
}

/// What the XDP program writes.
#[derive(Clone, Copy)]
pub struct Written {
    pub metadata: Metadata,
    pub writes: bool,
    pub foreign: u32,
    pub port: u16,
}

impl Written {
    /// Mark and priority, in front of UDP packets to port 9.
    pub fn new(mark: Option<u32>, priority: Option<u32>) -> Self {
        Self { metadata: Metadata::new(mark, priority, 1), writes: true, foreign: 0, port: 9 }
    }
}

/// Both programs of the probe.
pub struct Probe(Ebpf);

impl Probe {
    /// Loads the probe and attaches its XDP program.
    pub fn attach(node: &Node, mode: XdpMode, written: Written) -> Self {
        let globals = [u32::from(written.writes), written.foreign, u32::from(written.port)];
        let mut ebpf = EbpfLoader::new()
            .override_global("METADATA", &written.metadata, true)
            .override_global("WRITES", &globals[0], true)
            .override_global("FOREIGN", &globals[1], true)
            .override_global("PORT", &globals[2], true)
            .load(MARK_PROBE)
            .unwrap();
        let program: &mut Xdp = ebpf.program_mut("mark_probe").unwrap().try_into().unwrap();
        program.load().unwrap();
        node.inside(|| program.attach(device(node).as_c_str(), mode)).unwrap();
        let watch: &mut SchedClassifier = ebpf.program_mut("watch_marks").unwrap().try_into().unwrap();
        watch.load().unwrap();
        Self(ebpf)
    }

    /// Looks behind all filters that are there, as somebody's filter on a qdisc that must be there.
    pub fn watch_by_filter(&mut self, node: &Node) {
        let pin = node.bpffs.path().join("watch");
        self.watcher().pin(&pin).unwrap();
        node.tc(&format!("filter add dev DEV ingress pref 60 bpf direct-action pinned {}", pin.display()));
    }

    /// Looks behind all tcx programs that are there.
    pub fn watch_by_tcx(&mut self, node: &Node) {
        let attach = TcAttach::Tcx { attach_type: TcAttachType::Ingress, order: LinkOrder::last() };
        node.inside(|| self.watcher().attach(device(node).as_c_str(), attach)).unwrap();
    }

    fn watcher(&mut self) -> &mut SchedClassifier {
        self.0.program_mut("watch_marks").unwrap().try_into().unwrap()
    }

    /// Packets that were seen, as mark, priority and number.
    pub fn seen(&self) -> Vec<(u32, u32, u64)> {
        let map: HashMap<_, [u32; 2], u64> = HashMap::try_from(self.0.map("SEEN").unwrap()).unwrap();
        let mut seen: Vec<_> = map
            .iter()
            .map(Result::unwrap)
            .map(|([mark, priority], packets)| (mark, priority, packets))
            .collect();
        seen.sort_unstable();
        seen
    }

    /// Waits until so many packets were seen, and says which.
    pub fn wait_for(&self, packets: u64) -> Vec<(u32, u32, u64)> {
        let total = || self.seen().iter().map(|(_, _, packets)| packets).sum::<u64>();
        wait_until(PATIENCE, "every packet has come by", || total() == packets);
        self.seen()
    }

    /// Packets whose mark was written, and packets whose mark could not be.
    pub fn written(&self) -> (u64, u64) {
        let map: Array<_, u64> = Array::try_from(self.0.map("WRITTEN").unwrap()).unwrap();
        (map.get(&0, 0).unwrap(), map.get(&1, 0).unwrap())
    }
}

fn device(node: &Node) -> CString {
    CString::new(node.lab.node.device.as_str()).unwrap()
}
