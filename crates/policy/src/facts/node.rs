//! What a node says about itself beyond its devices: what it must keep talking to, and which address
//! sets it has. Contents of sets are not here, only what the compiler warns about.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::LinkFacts;

/// A node as the compiler sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Node {
    /// Its network devices.
    pub links: Vec<LinkFacts>,
    /// What it talks to.
    pub facts: NodeFacts,
    /// The address sets that it has.
    pub sets: Vec<SetFacts>,
}

/// What a node must keep talking to, whatever policies say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeFacts {
    /// Endpoints of the API server, old and new ones while they change.
    pub api_servers: Vec<SocketAddr>,
    /// Name servers of the node.
    pub resolvers: Vec<IpAddr>,
    /// UDP ports of its VXLAN, Geneve and `WireGuard` devices.
    pub overlay_ports: Vec<u16>,
    /// Its own addresses, each with the length of its prefix.
    pub addresses: Vec<IpNet>,
    /// Its next hops towards everywhere else.
    pub gateways: Vec<IpAddr>,
}

/// An address set on the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SetFacts {
    /// `metadata.name` of the `XdpCidrSet`.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Those of its prefixes that [`NodeFacts::is_notable`] picks.
    pub wide: Vec<IpNet>,
}

/// IPv4 prefixes of this length or shorter are seldom meant.
const WIDE_V4: u8 = 8;
/// IPv6 prefixes of this length or shorter are seldom meant.
const WIDE_V6: u8 = 16;

impl NodeFacts {
    /// Whether the compiler has to know that `prefix` is in a set: it is very wide, or it covers an address
    /// of the node or of what the node talks to.
    #[must_use]
    pub fn is_notable(&self, prefix: &IpNet) -> bool {
        let widest = if prefix.addr().is_ipv4() { WIDE_V4 } else { WIDE_V6 };
        prefix.prefix_len() <= widest || self.all_addresses().any(|address| prefix.contains(&address))
    }

    fn all_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let own = self.addresses.iter().map(IpNet::addr);
        own.chain(self.peers().map(|(_, address)| address))
    }

    /// What the node talks to, each with what it is, in words.
    pub(crate) fn peers(&self) -> impl Iterator<Item = (&'static str, IpAddr)> {
        let gateways = self.gateways.iter().map(|address| ("gateway", *address));
        let resolvers = self.resolvers.iter().map(|address| ("resolver", *address));
        let api_servers = self.api_servers.iter().map(|endpoint| ("API server", endpoint.ip()));
        gateways.chain(resolvers).chain(api_servers)
    }
}
