//! Two namespaces joined by a veth pair, ready for traffic: addresses set, neighbours known, both ends up.
//! It sends no ARP and no router solicitations by itself; a silent lab sends no frame at all, so that
//! tests can count frames.

use crate::namespace::NetworkNamespace;
use crate::napi;
use anyhow::{Context as _, Result, ensure};
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// `node` is where programs are attached; `peer` is the world that sends to it.
#[derive(Debug)]
pub struct VethLab {
    /// The end under test.
    pub node: Side,
    /// The other end.
    pub peer: Side,
}

/// One end of a lab.
#[derive(Debug)]
pub struct Side {
    /// The namespace that holds this end, alone.
    pub namespace: NetworkNamespace,
    /// The device's name, unique on the machine.
    pub device: String,
    /// The device's index in its namespace.
    pub ifindex: u32,
    /// The device's Ethernet address.
    pub mac: [u8; 6],
    /// In 10.9.0.0/24.
    pub ipv4: Ipv4Addr,
    /// In `fd00:9::/64`.
    pub ipv6: Ipv6Addr,
}

/// What a lab can be asked for.
#[derive(Clone, Debug)]
pub struct Options {
    purpose: String,
    mtu: u32,
    queues: u32,
    silent: bool,
}

impl VethLab {
    /// A lab with an MTU of 1500 and one queue. `purpose` becomes part of the namespaces' names.
    pub fn new(purpose: &str) -> Result<Self> {
        Self::options(purpose).build()
    }

    /// A lab with other than the usual properties; end with [`Options::build`].
    #[must_use]
    pub fn options(purpose: &str) -> Options {
        Options { purpose: purpose.to_owned(), mtu: 1500, queues: 1, silent: false }
    }

    /// The receive work of the node runs on `cpu` from now on, whoever sends, with or without a program.
    /// Switches the node's GRO on and the peer's TSO off.
    pub fn threaded_napi_pinned(&self, cpu: usize) -> Result<()> {
        // Else frames that cannot be aggregated bypass NAPI, until a program is attached.
        self.peer.namespace.call(&format!("ethtool -K {} tso off", self.peer.device))?;
        napi::pin(&self.node.namespace, &self.node.device, cpu)
    }
}

impl Options {
    /// The MTU of both ends.
    #[must_use]
    pub fn mtu(mut self, mtu: u32) -> Self {
        self.mtu = mtu;
        self
    }

    /// The number of receive and transmit queues of both ends.
    #[must_use]
    pub fn queues(mut self, queues: u32) -> Self {
        self.queues = queues;
        self
    }

    /// No IPv6, whose membership reports nothing else can switch off: no frame that the test did not send.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }

    /// Makes the lab.
    pub fn build(self) -> Result<VethLab> {
        let node = NetworkNamespace::new(&format!("{}-node", self.purpose))?;
        let peer = NetworkNamespace::new(&format!("{}-peer", self.purpose))?;
        let (node_device, peer_device) = device_names();
        let (queues, mtu) = (self.queues, self.mtu);
        node.ip(&format!(
            "link add name {node_device} numrxqueues {queues} numtxqueues {queues} mtu {mtu} type veth \
             peer name {peer_device} numrxqueues {queues} numtxqueues {queues} mtu {mtu} netns {}",
            peer.name()
        ))?;
        let lab = VethLab { node: Side::new(node, node_device, 1)?, peer: Side::new(peer, peer_device, 2)? };
        lab.node.configure(&lab.peer, self.silent)?;
        lab.peer.configure(&lab.node, self.silent)?;
        lab.node.wait_until_up()?;
        lab.peer.wait_until_up()?;
        Ok(lab)
    }
}

impl Side {
    fn new(namespace: NetworkNamespace, device: String, number: u8) -> Result<Self> {
        let ifindex = namespace.run(|| index_of(&device))?;
        Ok(Self {
            namespace,
            device,
            ifindex,
            mac: [2, 0, 0, 0, 0, number],
            ipv4: Ipv4Addr::new(10, 9, 0, number),
            ipv6: Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, number.into()),
        })
    }

    /// The Ethernet address as text.
    #[must_use]
    pub fn mac_text(&self) -> String {
        self.mac.map(|byte| format!("{byte:02x}")).join(":")
    }

    fn configure(&self, other: &Side, silent: bool) -> Result<()> {
        let (namespace, device, mac) = (&self.namespace, &self.device, self.mac_text());
        namespace.run(|| quieten(device, silent))?;
        namespace.ip(&format!("link set dev {device} address {mac} up"))?;
        namespace.ip(&format!("address add {}/24 dev {device}", self.ipv4))?;
        self.know(&other.ipv4.to_string(), other)?;
        if !silent {
            namespace.ip(&format!("address add {}/64 dev {device} nodad", self.ipv6))?;
            self.know(&other.ipv6.to_string(), other)?;
        }
        Ok(())
    }

    fn know(&self, address: &str, other: &Side) -> Result<()> {
        let (mac, device) = (other.mac_text(), &self.device);
        self.namespace.ip(&format!("neighbour replace {address} lladdr {mac} dev {device} nud permanent"))?;
        Ok(())
    }

    /// Routes become usable only when the kernel has noticed the carrier.
    fn wait_until_up(&self) -> Result<()> {
        let show = format!("-oneline link show dev {} up", self.device);
        self.namespace.ip(&show)?;
        crate::wait_until(Duration::from_secs(10), "both ends of the veth pair are up", || {
            self.namespace.ip(&show).is_ok_and(|line| line.contains("state UP"))
        });
        Ok(())
    }
}

/// Keeps the kernel from sending by itself through a device of the calling thread's namespace.
fn quieten(device: &str, silent: bool) -> Result<()> {
    let conf = Path::new("/proc/sys/net/ipv6/conf").join(device);
    if !conf.exists() {
        // A kernel without IPv6.
        return Ok(());
    }
    for (name, value) in [("addr_gen_mode", "1"), ("router_solicitations", "0")] {
        fs::write(conf.join(name), value).with_context(|| format!("set {name} of {device}"))?;
    }
    let disabled = if silent { "1" } else { "0" };
    fs::write(conf.join("disable_ipv6"), disabled).with_context(|| format!("set disable_ipv6 of {device}"))
}

/// Unique on the machine, since NAPI threads are known by the name of their device alone.
fn device_names() -> (String, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let base = format!("v{}x{}", base36(process::id()), base36(NEXT.fetch_add(1, Ordering::Relaxed)));
    (format!("{base}n"), format!("{base}p"))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

fn index_of(device: &str) -> Result<u32> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).context("open a socket")?;
    let ifindex =
        netdevice::name_to_index(&socket, device).with_context(|| format!("find device {device}"))?;
    ensure!(ifindex != 0, "device {device} has no index");
    Ok(ifindex)
}

#[cfg(test)]
mod tests {
    use super::{base36, device_names};

    #[test]
    fn device_names_are_unique_and_fit() {
        let (first, second) = (device_names(), device_names());
        assert_ne!(first, second);
        assert_ne!(first.0, first.1);
        assert!(first.0.len() <= 15);
        // The highest process id that a kernel gives.
        assert_eq!(base36(4_194_304), "2hwcg");
        assert_eq!(base36(0), "0");
    }
}
