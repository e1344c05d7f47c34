//! A table of address sets in a BPF file system of its own, and a program whose one rule drops what list 0 holds.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ipnet::IpNet;
use sluice_dataplane::{
    address_sets::AddressSets,
    bpffs::PinFolder,
    instance::{Content, Instance, Varied},
};
use sluice_ebpf_common::{
    Outcome, Tables,
    tables::{Action, Entry, Field, Rule, Side, WORDS},
};
use sluice_testkit::{Feature, Frame, require};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

/// Whether this machine lets us load programs; the test returns at once if not.
pub fn can_load() -> bool {
    require(Feature::Root) && require(Feature::Bpf)
}

pub struct Lab {
    pub sets: AddressSets,
    pub pins: PinFolder,
}

impl Lab {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("sluice-address-sets-{}-{number}", std::process::id());
        let pins = PinFolder::open(&PathBuf::from("/sys/fs/bpf").join(name)).unwrap();
        Self { sets: AddressSets::open(&pins).unwrap(), pins }
    }

    /// A program that reads the table as it is pinned now.
    pub fn program(&mut self) -> Program {
        let path = self.sets.path().unwrap();
        let tables = drop_of_list_0();
        let content = Content { tables: &tables, prefixes: &[] };
        Program(Instance::load_unpinned(&content, 1, Some(path), &Varied::default()).unwrap())
    }

    pub fn change(&mut self, changes: &[(&str, u64)]) {
        let changes: Vec<(IpNet, u64)> = changes.iter().map(|(prefix, mask)| (net(prefix), *mask)).collect();
        self.sets.change(&changes).unwrap();
    }

    /// Names of what is pinned.
    pub fn pinned(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.pins.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

pub struct Program(Instance);

impl Program {
    /// Whether the program drops a packet from there.
    pub fn holds(&self, source: impl Into<IpAddr>) -> bool {
        match self.0.run(&frame(source.into()), 1).unwrap().action {
            XDP_DROP => true,
            XDP_PASS => false,
            other => panic!("XDP action {other}"),
        }
    }

    #[track_caller]
    pub fn check(&self, inside: &[&str], outside: &[&str]) {
        for address in inside {
            assert!(self.holds(address.parse::<IpAddr>().unwrap()), "{address} is out");
        }
        for address in outside {
            assert!(!self.holds(address.parse::<IpAddr>().unwrap()), "{address} is in");
        }
    }
}

pub fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn frame(source: IpAddr) -> Vec<u8> {
    let ethernet = Frame::ethernet([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]);
    let ip = match source {
        IpAddr::V4(source) => ethernet.ipv4(source, [192, 0, 2, 1].into()),
        IpAddr::V6(source) => ethernet.ipv6(source, "2001:db8::1".parse().unwrap()),
    };
    ip.udp(40_000, 9).pad_to(60).build()
}

/// Bit 0 is the rule. It reads no field but the source set, so that it is wild in all others.
fn drop_of_list_0() -> Box<Tables> {
    let mut tables = Box::new(Tables::EMPTY);
    tables.fields = Field::SourceSet.bit();
    for (field, (wild, summary)) in tables.wild.iter_mut().zip(&mut tables.wild_summary).enumerate() {
        if field != Field::SourceSet as usize {
            wild[0] = 1;
            *summary = 1;
        }
    }
    tables.extra[WORDS] = 1;
    let offset = u32::try_from(WORDS).unwrap();
    tables.lists[Side::Source as usize][0] = Entry { summary: 1, offset };
    tables.rules[0] = Rule {
        action: Action::Decide as u8,
        outcome: Outcome::DropRule as u8,
        next: 1,
        policy_end: 1,
        ..Rule::default()
    };
    tables
}
