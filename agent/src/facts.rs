//! What the kernel says of a link, as the facts that policies are decided on. Only a change of form.

use ipnet::IpNet;
use sluice_dataplane::{
    AttachMode,
    links::{AttachedMode, Link, Routing},
};
use sluice_policy::{Channels, LinkFacts, Master, NodeFacts, attach};

/// The facts of `link`; `links` tells the names of devices below it.
pub fn of(link: &Link, links: &[Link]) -> LinkFacts {
    let parent = link.parent.and_then(|parent| links.iter().find(|other| other.ifindex == parent));
    LinkFacts {
        ifindex: link.ifindex,
        name: link.name.clone(),
        alternative_names: link.alternative_names.clone(),
        kind: link.kind.clone(),
        link_type: link.link_type,
        driver: link.driver.clone(),
        bus_address: link.bus_address.clone(),
        mtu: link.mtu,
        up: link.up,
        master: link
            .master
            .as_ref()
            .map(|master| Master { ifindex: master.ifindex, kind: master.kind.clone() }),
        parent: link.parent,
        parent_name: parent.map(|parent| parent.name.clone()),
        vlan_id: link.vlan_id,
        peer_in_other_namespace: link.peer_in_other_namespace,
        channels: link.channels.map(channels),
        rx_queues: link.rx_queues,
        tx_queues: link.tx_queues,
        xdp_features: link.xdp_features,
    }
}

/// Writes into `facts` what links and routing tell of the node. The gateways behind a device that is down are none:
/// the kernel takes its IPv4 routes away without a word.
pub fn complete(facts: &mut NodeFacts, links: &[Link], routing: &Routing) {
    facts.overlay_ports = links.iter().filter_map(|link| link.tunnel_port).collect();
    let addresses = routing.addresses.iter();
    let prefix = |own: &sluice_dataplane::links::Address| IpNet::new(own.address, own.prefix_length).ok();
    facts.addresses = addresses.filter_map(prefix).collect();
    let is_up = |ifindex: u32| links.iter().any(|link| link.ifindex == ifindex && link.up);
    let gateways = routing.gateways.iter().filter(|gateway| is_up(gateway.ifindex));
    facts.gateways = gateways.map(|gateway| gateway.address).collect();
    facts.overlay_ports.sort_unstable();
    facts.overlay_ports.dedup();
    facts.gateways.sort_unstable();
    facts.gateways.dedup();
}

fn channels(channels: sluice_dataplane::links::Channels) -> Channels {
    Channels {
        rx: channels.rx,
        tx: channels.tx,
        other: channels.other,
        combined: channels.combined,
        max_rx: channels.max_rx,
        max_tx: channels.max_tx,
        max_other: channels.max_other,
        max_combined: channels.max_combined,
    }
}

/// The mode in which `link` runs the program `program_id`, as the kernel says; `None` if it does not.
pub fn mode_in_force(link: &Link, program_id: u32) -> Option<AttachMode> {
    let attached = link.xdp.as_ref()?;
    let program = attached.programs.iter().find(|program| program.program_id == program_id)?;
    match program.mode {
        AttachedMode::Native => Some(AttachMode::Native),
        AttachedMode::Generic => Some(AttachMode::Generic),
        AttachedMode::Offload | AttachedMode::Multi => None,
    }
}

/// A mode in force, in the policy's words.
pub fn to_policy(mode: AttachMode) -> attach::AttachMode {
    match mode {
        AttachMode::Native => attach::AttachMode::Native,
        AttachMode::Generic => attach::AttachMode::Generic,
    }
}

/// A mode that the policy decided on, in the data plane's words.
pub fn to_attach(mode: attach::AttachMode) -> AttachMode {
    match mode {
        attach::AttachMode::Native => AttachMode::Native,
        attach::AttachMode::Generic => AttachMode::Generic,
    }
}
