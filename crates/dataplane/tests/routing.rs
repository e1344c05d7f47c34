//! Addresses and default routes, read and watched in real network namespaces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use sluice_dataplane::links::{Netlink, Routing, RoutingEvents};
use sluice_testkit::{Feature, NetworkNamespace, require};
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(10);
const A_WHILE: Duration = Duration::from_millis(600);
/// Longer than reports lie apart, and than a new IPv6 address is on trial.
const SETTLED: Duration = Duration::from_secs(3);

/// Runs `test` inside a new namespace with two devices that are up and have an address each, or skips it.
fn inside(purpose: &str, test: impl AsyncFnOnce(&NetworkNamespace) + Send) {
    if !require(Feature::NetworkNamespaces) {
        return;
    }
    let namespace = NetworkNamespace::new(purpose).unwrap();
    namespace.ip("link add v0 type veth peer name v1").unwrap();
    for (device, address) in [("v0", "192.0.2.2/24"), ("v1", "198.51.100.2/24")] {
        namespace.ip(&format!("address add {address} dev {device}")).unwrap();
        namespace.ip(&format!("link set {device} up")).unwrap();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    namespace.run(|| runtime.block_on(test(&namespace)));
}

async fn read() -> Routing {
    Netlink::open().unwrap().routing().await.unwrap()
}

fn gateways(routing: &Routing) -> Vec<String> {
    routing.gateways.iter().map(|gateway| gateway.address.to_string()).collect()
}

#[test]
fn addresses_are_those_that_others_can_reach() {
    inside("routing-addresses", async |namespace| {
        namespace.ip("address add 203.0.113.1 peer 203.0.113.9/32 dev v0").unwrap();
        namespace.ip("address add 2001:db8::2/64 dev v1 nodad").unwrap();
        let routing = read().await;
        let own = routing.addresses.iter().map(|own| format!("{}/{}", own.address, own.prefix_length));
        let own: Vec<String> = own.filter(|own| !own.starts_with("fe80:")).collect();
        assert_eq!(own, ["192.0.2.2/24", "198.51.100.2/24", "203.0.113.1/32", "2001:db8::2/64"]);
    });
}

#[test]
fn gateways_are_those_of_default_routes() {
    inside("routing-gateways", async |namespace| {
        assert_eq!(read().await.gateways, []);
        namespace.ip("route add 203.0.113.0/24 via 192.0.2.9").unwrap();
        namespace.ip("route add blackhole default metric 900").unwrap();
        namespace.ip("route add default table 100 via 192.0.2.7").unwrap();
        namespace.ip("route add default nexthop via 192.0.2.1 nexthop via 198.51.100.1").unwrap();
        namespace.ip("address add 2001:db8::2/64 dev v1 nodad").unwrap();
        namespace.ip("-6 route add default via 2001:db8::1").unwrap();
        assert_eq!(gateways(&read().await), ["192.0.2.1", "192.0.2.7", "198.51.100.1", "2001:db8::1"]);
    });
}

#[test]
fn default_routes_and_addresses_wake_and_other_routes_do_not() {
    inside("routing-events", async |namespace| {
        let mut events = RoutingEvents::subscribe().unwrap();
        while timeout(SETTLED, events.changed()).await.is_ok() {}
        for third in 0..200 {
            namespace.ip(&format!("route add 10.1.{third}.0/24 via 192.0.2.9")).unwrap();
        }
        assert!(timeout(A_WHILE, events.changed()).await.is_err(), "nobody asked for these routes");
        for words in [
            "route add default via 192.0.2.1",
            "route del default",
            "address add 203.0.113.1/24 dev v0",
            "address del 203.0.113.1/24 dev v0",
        ] {
            namespace.ip(words).unwrap();
            timeout(SOON, events.changed()).await.unwrap_or_else(|_| panic!("not noticed: {words}")).unwrap();
        }
    });
}
