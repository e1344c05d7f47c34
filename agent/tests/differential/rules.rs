//! Rules as a document has them, from choices: every match field, `not`, and every action. All of them are good: what
//! contradicts itself is not written.

use serde_json::{Map, Value, json};

use crate::choices::Choices;
use crate::values::{
    ESP, FLAGS, GRE, ICMP, ICMP_CODES, ICMP_TYPES, ICMPV6, LENGTHS, PORTS, SCTP, TCP, UDP, VLAN_IDS,
    prefix_v4, prefix_v6,
};

/// References to address sets: names, and the value of the label `list`. They are few, since a node has 64 lists.
const REFERENCES: [(&[&str], Option<&str>); 12] = [
    (&["s0"], None),
    (&["s1"], None),
    (&["s2"], None),
    (&["s3"], None),
    (&["empty"], None),
    (&["s0", "s1"], None),
    (&["s1", "s0", "s2"], None),
    (&["s2", "s3"], None),
    (&["s3", "empty"], None),
    (&[], Some("big")),
    (&[], Some("nobody")),
    (&["s0"], Some("big")),
];

/// A rule without its name.
pub fn rule(choices: &mut Choices<'_>) -> Value {
    let action = action(choices);
    let (mut matching, protocol) = fields(choices, None);
    if choices.chance(25) {
        let (not, _) = fields(choices, protocol);
        if !not.is_empty() {
            matching.insert("not".to_owned(), Value::Object(not));
        }
    }
    let drops = matches!(action["type"].as_str(), Some("Drop" | "RateLimit"));
    if drops && matching.is_empty() {
        matching.insert("protocol".to_owned(), json!(UDP));
    }
    json!({"match": matching, "action": action})
}

/// Fields that go together, in packets that have the protocol `around` anyway; and the protocol that they name.
fn fields(choices: &mut Choices<'_>, around: Option<u8>) -> (Map<String, Value>, Option<u8>) {
    let protocols = [
        (60, None),
        (60, Some(UDP)),
        (50, Some(TCP)),
        (16, Some(SCTP)),
        (18, Some(ICMP)),
        (18, Some(ICMPV6)),
        (8, Some(GRE)),
        (8, Some(ESP)),
        (8, Some(99)),
        (5, Some(0)),
        (5, Some(255)),
    ];
    let protocol = choices.weighted(&protocols);
    let family = match protocol {
        Some(ICMP) => Some(4),
        Some(ICMPV6) => Some(6),
        _ => choices.of(&[None, Some(4), Some(6), None]),
    };
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    if let Some(number) = protocol {
        put("protocol", protocol_value(number, choices));
    }
    for (name, value) in upper(choices, protocol.or(around)).into_iter().chain(lower(choices, family)) {
        put(name, value);
    }
    (object, protocol.or(around))
}

/// By name where there is one, as often as by number.
fn protocol_value(number: u8, choices: &mut Choices<'_>) -> Value {
    let names = [
        (ICMP, "ICMP"),
        (TCP, "TCP"),
        (UDP, "UDP"),
        (GRE, "GRE"),
        (ESP, "ESP"),
        (ICMPV6, "ICMPv6"),
        (SCTP, "SCTP"),
    ];
    let name = names.iter().find(|(of, _)| *of == number).map(|(_, name)| *name);
    match name.filter(|_| !choices.chance(50)) {
        Some(name) => json!(name),
        None => json!(number),
    }
}

/// What lies behind the IP header.
fn upper(choices: &mut Choices<'_>, protocol: Option<u8>) -> Vec<(&'static str, Value)> {
    let mut given = Vec::new();
    if matches!(protocol, Some(TCP | UDP | SCTP)) {
        if choices.chance(50) {
            given.push(("destinationPorts", ports(choices)));
        }
        if choices.chance(20) {
            given.push(("sourcePorts", ports(choices)));
        }
    }
    if protocol == Some(TCP) && choices.chance(30) {
        given.push(("tcpFlags", flags(choices)));
    }
    if matches!(protocol, Some(ICMP | ICMPV6)) && choices.chance(60) {
        let mut icmp = json!({"type": choices.of(&ICMP_TYPES)});
        if choices.chance(40) {
            icmp["code"] = json!(choices.of(&ICMP_CODES));
        }
        given.push(("icmp", icmp));
    }
    given
}

/// The IP header and what is before it.
fn lower(choices: &mut Choices<'_>, family: Option<u8>) -> Vec<(&'static str, Value)> {
    let mut given = Vec::new();
    let mut some = |percent, name, value: &dyn Fn(&mut Choices<'_>) -> Value| {
        if choices.chance(percent) {
            given.push((name, value(choices)));
        }
    };
    if let Some(version) = family {
        some(40, "ipVersion", &|_| json!(version));
    }
    some(30, "sources", &|choices| prefixes(choices, family));
    some(20, "destinations", &|choices| prefixes(choices, family));
    some(10, "vlan", &|choices| json!({"ids": several(choices, 3, |choices| choices.of(&VLAN_IDS))}));
    some(10, "fragment", &|choices| json!(choices.of(&["First", "Later", "Any"])));
    some(10, "length", &|choices| json!(range(choices, &LENGTHS, true)));
    for (sets, selector) in
        [("sourceSets", "sourceSetSelector"), ("destinationSets", "destinationSetSelector")]
    {
        if choices.chance(12) {
            let (names, label) = choices.of(&REFERENCES);
            given.extend((!names.is_empty()).then(|| (sets, json!(names))));
            given.extend(label.map(|label| (selector, json!({"matchLabels": {"list": label}}))));
        }
    }
    given
}

/// One or more.
fn several<T>(choices: &mut Choices<'_>, most: usize, one: impl Fn(&mut Choices<'_>) -> T) -> Vec<T> {
    let count = 1 + choices.below(most);
    (0..count).map(|_| one(choices)).collect()
}

/// Of one family; without one of both, so that two such lists always have one in common.
pub fn prefixes(choices: &mut Choices<'_>, family: Option<u8>) -> Value {
    let prefixes = match family {
        Some(4) => several(choices, 4, prefix_v4),
        Some(_) => several(choices, 4, prefix_v6),
        None => vec![prefix_v4(choices), prefix_v6(choices), prefix_v4(choices)],
    };
    prefixes.iter().map(ToString::to_string).collect()
}

/// As text, and single ports as numbers too.
pub fn ports(choices: &mut Choices<'_>) -> Value {
    let one = |choices: &mut Choices<'_>| {
        if choices.chance(50) {
            return json!(range(choices, &PORTS, false));
        }
        let port = choices.of(&PORTS);
        if choices.chance(50) { json!(port) } else { json!(port.to_string()) }
    };
    Value::Array(several(choices, 3, one))
}

fn range(choices: &mut Choices<'_>, pool: &[u16], always: bool) -> String {
    let (one, other) = (choices.of(pool), choices.of(pool));
    let (first, last) = (one.min(other), one.max(other));
    if first == last && !always { first.to_string() } else { format!("{first}-{last}") }
}

fn flags(choices: &mut Choices<'_>) -> Value {
    let (mut set, mut unset) = (Vec::new(), Vec::new());
    for flag in FLAGS {
        match choices.of(&[0, 0, 1, 2]) {
            1 => set.push(flag),
            2 => unset.push(flag),
            _ => {}
        }
    }
    if set.is_empty() && unset.is_empty() {
        set.push("SYN");
    }
    let lists = [("set", set), ("unset", unset)].into_iter().filter(|(_, flags)| !flags.is_empty());
    lists.map(|(name, flags)| (name.to_owned(), json!(flags))).collect::<Map<_, _>>().into()
}

fn action(choices: &mut Choices<'_>) -> Value {
    let kinds = [
        (50, "Count"),
        (50, "Drop"),
        (40, "Pass"),
        (30, "RateLimit"),
        (30, "Mark"),
        (10, "Steer"),
        (10, "Socket"),
    ];
    let kind = choices.weighted(&kinds);
    let mut action = json!({"type": kind});
    match kind {
        "RateLimit" => action["rateLimit"] = rate_limit(choices),
        "Mark" => action["mark"] = mark(choices),
        "Steer" => {
            action["steer"] =
                json!({"cpus": "0-1", "algorithm": choices.of(&["FlowHash", "SourceHash", "RoundRobin"])});
        }
        "Socket" => action["socket"] = json!({"pool": "fast"}),
        _ => {}
    }
    action
}

/// A rate of 1 a second, under which the first packets of a bucket pass, and then none for as long as a run takes; or a
/// burst that nothing reaches.
fn rate_limit(choices: &mut Choices<'_>) -> Value {
    let mut limit = if choices.chance(40) {
        json!({"bitsPerSecond": 1, "burst": choices.of(&[1_000, 1, 480, 481, 20_000, 1_000_000])})
    } else {
        json!({"packetsPerSecond": 1, "burst": choices.of(&[3, 1, 2, 10, 100, 1_000_000])})
    };
    if choices.chance(50) {
        limit["per"] = json!("Source");
        if choices.chance(60) {
            let (v4, v6) = (choices.of(&[24, 32, 16, 8, 1, 31]), choices.of(&[64, 128, 48, 32, 1, 33, 65]));
            limit["sourcePrefix"] = json!({"v4": v4, "v6": v6});
        }
    }
    limit
}

fn mark(choices: &mut Choices<'_>) -> Value {
    let mut mark = Map::new();
    if choices.chance(60) {
        mark.insert("mark".to_owned(), json!(choices.of(&[0x10_u32, 0, u32::MAX])));
    }
    match choices.of(&[0, 1, 2]) {
        1 => mark.insert("priority".to_owned(), json!(choices.of(&[6_u32, 0, u32::MAX]))),
        2 => mark.insert("class".to_owned(), json!(choices.of(&["1:10", "ffff:ffff", "1:0"]))),
        _ => None,
    };
    if mark.is_empty() {
        mark.insert("mark".to_owned(), json!(1));
    }
    Value::Object(mark)
}
