//! POL-13 and POL-14 on the loaded program: what rate limits do to packets, and what a flood does to the table of sources.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Instant;

use serde_json::{Value, json};
use sluice_dataplane::instance::{Content, Instance, Varied};
use sluice_ebpf_common::{Event, Outcome};
use sluice_policy::{InterfacePlan, NodeFacts};
use sluice_testkit::Frame;

use crate::can_load;
use crate::cases::{load, plan_of};
use crate::policies::Sets;
use crate::program::{Machine, bindings};

const XDP_PASS: u32 = 2;

fn plan(rules: &Value, default_action: Option<&str>) -> InterfacePlan {
    let mut spec = json!({"rules": rules});
    if let Some(action) = default_action {
        spec["defaultAction"] = json!(action);
    }
    plan_of(&[("p", &spec)], &NodeFacts::default(), &Sets::new())
}

/// UDP in IPv4.
pub fn v4(source: Ipv4Addr, source_port: u16) -> Vec<u8> {
    let frame = Frame::ethernet([2; 6], [2; 6]).ipv4(source, Ipv4Addr::new(198, 51, 100, 20));
    frame.udp(source_port, 27015).payload(&[0; 83]).build()
}

fn v6(source: Ipv6Addr) -> Vec<u8> {
    Frame::ethernet([2; 6], [2; 6]).ipv6(source, Ipv6Addr::LOCALHOST).udp(4000, 27015).build()
}

fn game(limit: &str) -> Value {
    json!({
        "name": limit, "match": {"protocol": "UDP", "destinationPorts": ["27015"]},
        "action": {"type": "RateLimit", "rateLimit": {"packetsPerSecond": 10000, "per": "Source", "excess": "Drop"}},
    })
}

#[test]
fn pol_13_a_rate_limit_is_not_an_allow_rule() {
    if !can_load() {
        return;
    }
    let program = load(&mut Machine::new(), &plan(&json!([game("limit-game")]), Some("Drop")), &Sets::new());
    let frame = v4(Ipv4Addr::new(192, 0, 2, 10), 4000);
    (0..100).for_each(|_| assert_ne!(program.run(&frame).action, XDP_PASS));
    let counted = program.counted();
    assert_eq!(counted.packets("p/defaultAction"), 100);
    assert_eq!(counted.packets("p/limit-game#exceeded"), 0);
    assert_eq!(counted.packets("p/limit-game"), 100, "a quiet limiter counts too");
}

#[test]
fn pol_13_a_pass_rule_behind_it_lets_what_is_within_the_limit_pass() {
    if !can_load() {
        return;
    }
    let pass = json!({"name": "pass", "match": {"protocol": "UDP", "destinationPorts": ["27015"]}, "action": {"type": "Pass"}});
    let program =
        load(&mut Machine::new(), &plan(&json!([game("limit-game"), pass]), Some("Drop")), &Sets::new());
    let frame = v4(Ipv4Addr::new(192, 0, 2, 10), 4000);
    (0..100).for_each(|_| assert_eq!(program.run(&frame).action, XDP_PASS));
    let begun = Instant::now();
    for _ in 0..200 {
        program.instance().run(&frame, 100).unwrap();
    }
    let seconds = begun.elapsed().as_secs_f64();
    let counted = program.counted();
    assert_eq!(counted.packets("p/limit-game"), 20_100);
    let passed = counted.packets("p/pass") as f64;
    // A burst of a tenth of a second; the first hundred may have come out of it or may have been refilled.
    let most = (100.0 + 1000.0 + 10_000.0 * seconds * 1.02).min(20_100.0);
    assert!(
        passed <= most + 2.0 && passed >= (0.98 * (900.0 + 10_000.0 * seconds)).min(20_100.0),
        "{passed} in {seconds} s"
    );
    assert_eq!(counted.packets("p/pass") + counted.packets("p/limit-game#exceeded"), 20_100);
}

const TABLE: u32 = 1024;
const FORGED: u32 = 20_000;

fn per_source(rate: u32) -> Value {
    json!({
        "name": "per-source", "match": {"protocol": "UDP"},
        "action": {"type": "RateLimit", "rateLimit": {
            "packetsPerSecond": rate, "per": "Source", "sourcePrefix": {"v4": 32, "v6": 64}, "excess": "Drop"}},
    })
}

/// With a small table of sources.
fn load_small(plan: &InterfacePlan) -> (Instance, sluice_policy::Bindings) {
    let bindings = bindings(plan);
    let compiled = plan.compiled(&bindings).unwrap();
    let content = Content { tables: &compiled.tables, prefixes: &compiled.prefixes };
    (Instance::load_unpinned(&content, TABLE, None, &Varied::default()).unwrap(), bindings)
}

#[test]
fn pol_14_forged_sources_recycle_buckets_and_are_never_dropped_for_it() {
    if !can_load() {
        return;
    }
    let plan = plan(&json!([per_source(500)]), None);
    let (instance, bindings) = load_small(&plan);
    let honest = v4(Ipv4Addr::new(192, 0, 2, 77), 4000);
    for number in 0..FORGED {
        let forged = if number % 2 == 0 {
            v4(Ipv4Addr::from(0x0a00_0000 + number), 4000)
        } else {
            v6(Ipv6Addr::from(0x2001_0db8 << 96 | u128::from(number) << 64 | 1))
        };
        assert_eq!(instance.run(&forged, 1).unwrap().action, XDP_PASS);
        // Fewer than the burst of 50 altogether, however often its bucket is recycled.
        if number % 500 == 0 {
            assert_eq!(instance.run(&honest, 1).unwrap().action, XDP_PASS, "an honest client");
        }
    }
    let counters = instance.counters().unwrap();
    let packets = |name: &str| counters.rules[usize::from(bindings.slots[name])].packets;
    assert_eq!(packets("p/per-source"), u64::from(FORGED + FORGED / 500));
    assert_eq!(packets("p/per-source#exceeded"), 0);
    assert_eq!(counters.outcomes[Outcome::PassNoMatch as usize].packets, u64::from(FORGED + FORGED / 500));
    let sources = instance.sources().unwrap();
    let failed = counters.events[Event::SourceTableFailed as usize].packets;
    assert!(sources.held <= u64::from(TABLE), "{sources:?}");
    assert!(sources.created + failed >= u64::from(FORGED), "{sources:?}, {failed} failed");
    assert!(
        sources.created - sources.held >= u64::from(FORGED - TABLE) - failed,
        "the recycled are counted: {sources:?}"
    );
}

#[test]
fn pol_14_what_shares_a_source_prefix_shares_a_bucket() {
    if !can_load() {
        return;
    }
    // A rate of 1 a second has a burst of 1.
    let plan = plan(&json!([per_source(1)]), None);
    let (instance, bindings) = load_small(&plan);
    let begun = Instant::now();
    let client = Ipv4Addr::new(198, 51, 100, 1);
    let passes = |frame: &[u8]| instance.run(frame, 1).unwrap().action == XDP_PASS;
    let net = |subnet: u128, host: u128| v6(Ipv6Addr::from(0x2001_0db8 << 96 | subnet << 64 | host));
    let answers = [
        passes(&v4(client, 1)),
        passes(&v4(client, 2)),
        passes(&v4(Ipv4Addr::new(198, 51, 100, 2), 1)),
        passes(&net(1, 1)),
        passes(&net(1, u128::from(u64::MAX))),
        passes(&net(2, 1)),
    ];
    assert!(begun.elapsed().as_millis() < 1000, "the machine is too busy");
    assert_eq!(
        answers,
        [true, false, true, true, false, true],
        "ports and hosts of one /64 make no difference"
    );
    let counters = instance.counters().unwrap();
    assert_eq!(counters.rules[usize::from(bindings.slots["p/per-source#exceeded"])].packets, 2);
    assert_eq!(counters.outcomes[Outcome::DropRateLimit as usize].packets, 2);
}

#[test]
fn a_frame_without_a_source_has_no_bucket_and_is_never_dropped() {
    if !can_load() {
        return;
    }
    let mut rule = per_source(1);
    rule["match"] = json!({"vlan": {"ids": [7]}});
    let (instance, bindings) = load_small(&plan(&json!([rule]), None));
    let other = Frame::ethernet([2; 6], [2; 6]).vlan(7).ethertype(0x1234).pad_to(60).build();
    (0..10).for_each(|_| assert_eq!(instance.run(&other, 1).unwrap().action, XDP_PASS));
    let counters = instance.counters().unwrap();
    assert_eq!(counters.rules[usize::from(bindings.slots["p/per-source"])].packets, 10);
}
