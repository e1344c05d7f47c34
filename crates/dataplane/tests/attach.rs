//! Attach, swap, adopt, remove, clean up: on a veth pair of its own for each test, in both modes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::{net::UdpSocket, time::Duration};

use rstest::rstest;
use sluice_dataplane::{
    AttachMode, Error,
    attachment::{Attachment, Revision},
    bpffs::PinFolder,
    cleanup,
    instance::{Compiled, Instance, Varied},
    links::{AttachedMode, Netlink},
};
use sluice_ebpf_common::{MAX_RULES, Outcome, RULE_SLOTS};
use sluice_testkit::{
    BpffsDir, Feature, VethLab, require,
    rules::{Action, Rule, compile},
    wait_until,
};

const UDP: u8 = 17;

/// A lab with a folder for pins, which must not exist yet.
struct Node {
    lab: VethLab,
    bpffs: BpffsDir,
}

impl Node {
    fn new(purpose: &str) -> Option<Self> {
        if ![Feature::Root, Feature::NetworkNamespaces, Feature::Bpf].into_iter().all(require) {
            return None;
        }
        Some(Self {
            lab: VethLab::options(purpose).silent().build().unwrap(),
            bpffs: BpffsDir::new(purpose).unwrap(),
        })
    }

    fn pins(&self) -> PinFolder {
        PinFolder::open(&self.pin_path()).unwrap()
    }

    fn pin_path(&self) -> std::path::PathBuf {
        self.bpffs.path().join("sluice")
    }

    fn ifindex(&self) -> u32 {
        self.lab.node.ifindex
    }

    fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.lab.node.namespace.run(work)
    }

    fn attach(&self, pins: &PinFolder, mode: AttachMode, port: u16) -> Result<Attachment, Error> {
        let ifindex = self.ifindex();
        self.inside(|| drop_port(port, |revision| Attachment::create(pins, ifindex, mode, revision)))
    }

    /// Mode and program id, as the kernel says.
    fn kernel(&self) -> Option<(AttachedMode, u32)> {
        let ifindex = self.ifindex();
        let link = self.inside(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async { Netlink::open().unwrap().link(ifindex).await.unwrap() })
        });
        link?.xdp.map(|xdp| (xdp.mode, xdp.program_id))
    }

    fn send(&self, packets: u64, port: u16) {
        let node = self.lab.node.ipv4;
        self.lab.peer.namespace.run(|| {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            for _ in 0..packets {
                socket.send_to(b"x", (node, port)).unwrap();
            }
        });
    }
}

/// A revision that drops UDP to `port`, under the rule name `test/port-PORT`.
fn drop_port<T>(port: u16, act: impl FnOnce(&Revision<'_>) -> T) -> T {
    drop_port_by(&format!("test/port-{port}"), port, act)
}

/// The same under another rule name.
fn drop_port_by<T>(rule: &str, port: u16, act: impl FnOnce(&Revision<'_>) -> T) -> T {
    let compiled = |slots: &[u16]| {
        let rule = Rule { slot: slots[0], ..Rule::port(UDP, port, Action::Drop) };
        Ok(Compiled { tables: compile(&[rule]), prefixes: vec![] })
    };
    let digest = format!("{port:016x}");
    act(&revision(&digest, &[rule.to_owned()], &compiled))
}

fn revision<'a>(
    digest: &'a str,
    rules: &'a [String],
    compiled: &'a dyn Fn(&[u16]) -> Result<Compiled, String>,
) -> Revision<'a> {
    Revision { digest, rules, compiled, sources: 0, live: None }
}

/// Every packet passes.
fn nothing() -> Compiled {
    Compiled { tables: compile(&[]), prefixes: vec![] }
}

/// A program that is attached to nothing.
fn pass_everything() -> Instance {
    Instance::load_unpinned(&nothing().content(), 0, None, &Varied::default()).unwrap()
}

fn dropped(attachment: &Attachment) -> u64 {
    attachment.counters().unwrap().outcomes[Outcome::DropRule as usize].packets
}

fn wait_for_drops(attachment: &Attachment, packets: u64) {
    wait_until(Duration::from_secs(5), "the packets to be dropped", || dropped(attachment) == packets);
}

#[rstest]
#[case::native(AttachMode::Native, AttachedMode::Native)]
#[case::generic(AttachMode::Generic, AttachedMode::Generic)]
fn attaches_in_the_mode_that_was_asked_for(#[case] mode: AttachMode, #[case] said: AttachedMode) {
    let Some(node) = Node::new("mode") else { return };
    let attachment = node.attach(&node.pins(), mode, 9).unwrap();
    assert_eq!(node.kernel(), Some((said, attachment.ids().unwrap().program)));
    node.send(10, 9);
    wait_for_drops(&attachment, 10);
}

#[rstest]
#[case::native(AttachMode::Native)]
#[case::generic(AttachMode::Generic)]
fn a_swap_keeps_the_link_and_the_counters(#[case] mode: AttachMode) {
    let Some(node) = Node::new("swap") else { return };
    let mut attachment = node.attach(&node.pins(), mode, 9).unwrap();
    node.send(3, 9);
    wait_for_drops(&attachment, 3);
    let before = attachment.ids().unwrap();
    drop_port(10, |revision| attachment.swap(revision)).unwrap();
    let after = attachment.ids().unwrap();
    assert_eq!(before.link, after.link);
    assert_ne!(before.program, after.program);
    node.send(2, 10);
    wait_for_drops(&attachment, 5);
    let rules = attachment.rule_counters(&attachment.counters().unwrap()).unwrap();
    assert_eq!((rules["test/port-9"].packets, rules["test/port-10"].packets), (3, 2));
    assert_eq!(programs(&node), 1, "the program of the old revision is no longer pinned");
}

#[rstest]
#[case::native(AttachMode::Native)]
#[case::generic(AttachMode::Generic)]
fn dropping_detaches_nothing_and_the_next_start_adopts(#[case] mode: AttachMode) {
    let Some(node) = Node::new("adopt") else { return };
    let before = {
        let attachment = node.attach(&node.pins(), mode, 9).unwrap();
        node.send(4, 9);
        wait_for_drops(&attachment, 4);
        attachment.ids().unwrap()
    };
    let pins = node.pins();
    assert_eq!(pins.interfaces().unwrap(), [node.ifindex()]);
    let adopted = Attachment::adopt(&pins, node.ifindex()).unwrap().expect("it is pinned");
    assert_eq!(adopted.ids().unwrap(), before);
    assert!(drop_port(9, |revision| adopted.runs(revision)));
    assert_eq!(dropped(&adopted), 4);
}

#[rstest]
fn a_swap_that_was_cut_short_is_put_right() {
    let Some(node) = Node::new("cut") else { return };
    let pins = node.pins();
    drop(node.attach(&pins, AttachMode::Generic, 9).unwrap());
    // What a kill leaves between the load of the new program and the update of the link.
    let folder = pins.path().join(node.ifindex().to_string());
    let unattached = pass_everything();
    unattached.pin(&folder.join("program_000000000000000a_0000000000000000")).unwrap();
    let adopted = Attachment::adopt(&pins, node.ifindex()).unwrap().unwrap();
    assert_eq!(adopted.digest(), Some("0000000000000009"));
    assert_eq!(programs(&node), 1);
}

#[rstest]
fn a_link_without_its_program_pin_is_kept_and_swapped() {
    let Some(node) = Node::new("nopin") else { return };
    let pins = node.pins();
    let before = node.attach(&pins, AttachMode::Generic, 9).unwrap().ids().unwrap();
    let folder = pins.path().join(node.ifindex().to_string());
    for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.file_name().unwrap() != "link" {
            std::fs::remove_file(entry).unwrap();
        }
    }
    let mut adopted = Attachment::adopt(&pins, node.ifindex()).unwrap().unwrap();
    assert_eq!((adopted.digest(), dropped(&adopted)), (None, 0));
    drop_port(10, |revision| adopted.swap(revision)).unwrap();
    assert_eq!(adopted.ids().unwrap().link, before.link);
    node.send(2, 10);
    wait_for_drops(&adopted, 2);
}

#[rstest]
#[case::native(AttachMode::Native)]
#[case::generic(AttachMode::Generic)]
fn removing_leaves_nothing(#[case] mode: AttachMode) {
    let Some(node) = Node::new("remove") else { return };
    let pins = node.pins();
    node.attach(&pins, mode, 9).unwrap().remove().unwrap();
    assert_eq!(node.kernel(), None);
    assert!(pins.interfaces().unwrap().is_empty());
}

#[rstest]
fn pins_of_an_interface_that_is_gone_are_removed() {
    let Some(node) = Node::new("gone") else { return };
    let pins = node.pins();
    drop(node.attach(&pins, AttachMode::Native, 9).unwrap());
    node.lab.node.namespace.ip(&format!("link del {}", node.lab.node.device)).unwrap();
    assert!(Attachment::adopt(&pins, node.ifindex()).unwrap().is_none());
    assert!(pins.interfaces().unwrap().is_empty());
}

#[rstest]
fn a_refusal_has_an_errno_and_leaves_nothing() {
    let Some(node) = Node::new("refuse") else { return };
    let pins = node.pins();
    // A driver without XDP.
    node.lab.node.namespace.ip("link add plain type ifb").unwrap();
    let shown = node.lab.node.namespace.ip("-o link show plain").unwrap();
    let ifindex: u32 = shown.split(':').next().unwrap().parse().unwrap();
    let error = node
        .inside(|| drop_port(9, |revision| Attachment::create(&pins, ifindex, AttachMode::Native, revision)))
        .unwrap_err();
    assert_eq!(error.attach_errno(), Some(libc::EOPNOTSUPP));
    assert!(pins.interfaces().unwrap().is_empty());
}

#[rstest]
fn only_one_process_works_on_the_pins() {
    let Some(node) = Node::new("lock") else { return };
    let pins = node.pins();
    assert!(matches!(PinFolder::open(&node.pin_path()), Err(Error::InUse { .. })));
    assert!(matches!(cleanup::run(&node.pin_path()), Err(Error::InUse { .. })));
    drop(pins);
    assert!(cleanup::run(&node.pin_path()).unwrap().interfaces.is_empty());
}

#[rstest]
fn cleanup_takes_everything_off() {
    let Some(node) = Node::new("cleanup") else { return };
    drop(node.attach(&node.pins(), AttachMode::Native, 9).unwrap());
    let (_, program) = node.kernel().unwrap();
    let removed = cleanup::run(&node.pin_path()).unwrap();
    assert_eq!(removed.interfaces, [node.ifindex()]);
    assert_eq!(removed.programs, [(node.ifindex(), program)].into());
    assert_eq!(node.kernel(), None);
    assert!(!node.pin_path().exists());
    assert!(cleanup::run(&node.pin_path()).unwrap().interfaces.is_empty(), "again: nothing to do");
}

/// A program where the link belongs: the kernel does not detach it.
fn pin_a_program_as_link(pins: &PinFolder, ifindex: u32) -> std::path::PathBuf {
    let folder = pins.path().join(ifindex.to_string());
    std::fs::create_dir(&folder).unwrap();
    let program = pass_everything();
    program.pin(&folder.join("link")).unwrap();
    folder
}

/// What cannot be opened, but could be removed, where the link belongs.
fn make_the_link_unreadable(pins: &PinFolder, ifindex: u32) -> std::path::PathBuf {
    let folder = pins.path().join(ifindex.to_string());
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink("/", folder.join("link")).unwrap();
    folder
}

#[rstest]
#[case::of_another_kind(pin_a_program_as_link)]
#[case::unreadable(make_the_link_unreadable)]
fn cleanup_goes_on_after_an_interface_that_it_cannot_clean_and_says_so(
    #[case] spoil: fn(&PinFolder, u32) -> std::path::PathBuf,
) {
    let Some(node) = Node::new("spoilt") else { return };
    let pins = node.pins();
    drop(node.attach(&pins, AttachMode::Native, 9).unwrap());
    // One before and one after the good one, and none of a device that exists.
    let spoilt = [spoil(&pins, 0), spoil(&pins, u32::MAX)];
    drop(pins);
    let removed = cleanup::run(&node.pin_path()).unwrap();
    assert_eq!(removed.interfaces, [node.ifindex()], "{:?}", removed.failures);
    assert_eq!(removed.failures.len(), 2, "{:?}", removed.failures);
    assert_eq!(node.kernel(), None);
    assert!(spoilt.iter().all(|folder| folder.join("link").exists()), "the only way to them stays");
}

#[rstest]
fn cleanup_detaches_also_what_somebody_else_holds() {
    let Some(node) = Node::new("held") else { return };
    let held = node.attach(&node.pins(), AttachMode::Native, 9).unwrap();
    assert_eq!(cleanup::run(&node.pin_path()).unwrap().interfaces, [node.ifindex()]);
    assert_eq!(node.kernel(), None);
    assert!(!held.ids().unwrap().attached);
}

#[rstest]
fn a_program_has_its_name_until_it_is_gone() {
    let Some(node) = Node::new("name") else { return };
    let attachment = node.attach(&node.pins(), AttachMode::Native, 9).unwrap();
    let id = attachment.ids().unwrap().program;
    assert_eq!(sluice_dataplane::program_name(id).as_deref(), Some("sluice"));
    attachment.remove().unwrap();
    drop(attachment);
    wait_until(Duration::from_secs(5), "the program is gone", || {
        sluice_dataplane::program_name(id).is_none()
    });
}

#[rstest]
fn pins_outside_a_bpf_file_system_are_refused() {
    let Some(_node) = Node::new("elsewhere") else { return };
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(PinFolder::open(&folder.path().join("sluice")), Err(Error::NotBpffs { .. })));
}

#[rstest]
fn rule_names_beyond_the_slots_take_over_those_of_retired_rules() {
    let Some(node) = Node::new("slots") else { return };
    // The first rule that another takes over from is the first by name: it must be the one that counted.
    let (pins, ifindex) = (node.pins(), node.ifindex());
    let attach = |revision: &Revision<'_>| Attachment::create(&pins, ifindex, AttachMode::Generic, revision);
    let mut attachment = node.inside(|| drop_port_by("test/0", 9, attach)).unwrap();
    node.send(3, 9);
    wait_for_drops(&attachment, 3);
    let counted =
        |attachment: &Attachment| attachment.rule_counters(&attachment.counters().unwrap()).unwrap();
    assert_eq!(counted(&attachment)["test/0"].packets, 3);
    for number in 1..=RULE_SLOTS / MAX_RULES {
        let rules: Vec<String> = (0..MAX_RULES).map(|rule| format!("test/{number}-{rule}")).collect();
        let digest = format!("{number:016x}");
        attachment.swap(&revision(&digest, &rules, &|_: &[u16]| Ok(nothing()))).unwrap();
    }
    let rules = counted(&attachment);
    assert_eq!(rules.len(), RULE_SLOTS);
    assert!(!rules.contains_key("test/0"), "its slot was needed");
    assert!(rules.values().all(|counted| counted.packets == 0), "a slot taken over begins at zero");
}

fn programs(node: &Node) -> usize {
    let pins = node.bpffs.pins().unwrap();
    pins.iter().filter(|pin| pin.to_string_lossy().contains("/program_")).count()
}
