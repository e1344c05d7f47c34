//! Attaching: a pinned link on one end of a veth pair, packets from the other end, counters read back.

use std::{net::UdpSocket, sync::LazyLock, time::Duration};

use anyhow::{Context as _, Result};
use sluice_dataplane::{
    AttachMode,
    attachment::{Attachment, Revision},
    bpffs::PinFolder,
};
use sluice_ebpf_common::Outcome;
use sluice_testkit::{BpffsDir, VethLab, wait_until};

use crate::tables;

const PACKETS: u64 = 10;

/// Attaches [`tables::ordinary`] in `mode`, sees it drop, and takes it off.
pub fn drops(mode: AttachMode) -> Result<String> {
    let lab = VethLab::options("kernel").silent().build()?;
    let bpffs = BpffsDir::new("kernel")?;
    let pins = PinFolder::open(&bpffs.path().join("sluice"))?;
    let ifindex = lab.node.ifindex;
    let attachment = lab.node.namespace.run(|| Attachment::create(&pins, ifindex, mode, &revision()))?;
    lab.peer.namespace.run(|| send(&lab))?;
    let dropped = || attachment.counters().map(|all| all.outcomes[Outcome::DropRule as usize].packets);
    wait_until(Duration::from_secs(20), "the packets to be dropped", || {
        dropped().is_ok_and(|n| n == PACKETS)
    });
    attachment.remove()?;
    Ok(format!("{PACKETS} packets dropped"))
}

static RULES: LazyLock<[String; 1]> = LazyLock::new(|| ["kernel/drop".to_owned()]);

fn revision() -> Revision<'static> {
    let compiled = &|slots: &[u16]| {
        let mut compiled = tables::ordinary();
        compiled.tables.rules[0].slot = slots.first().copied().unwrap_or_default();
        Ok(compiled)
    };
    Revision { digest: "0123456789abcdef", rules: &*RULES, compiled, sources: 0, live: None }
}

fn send(lab: &VethLab) -> Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0").context("open a socket")?;
    for _ in 0..PACKETS {
        socket.send_to(b"x", (lab.node.ipv4, tables::PORT)).context("send a packet")?;
    }
    Ok(())
}
