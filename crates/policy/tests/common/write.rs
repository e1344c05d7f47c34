//! Checked policies written as documents again. Shares nothing with the code that reads them.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, missing_docs)]

use serde_json::{Map, Value, json};
use sluice_policy::failsafe::{Failsafe, ServiceChange};
use sluice_policy::{
    Action, DefaultAction, Enforcement, Fields, FragmentPart, IpVersion, Mark, Matcher, Mode, Policy,
    RateLimit, RateUnit, SetReference, Steer,
};

pub fn document(policy: &Policy) -> Value {
    let rules: Vec<Value> = policy
        .rules
        .iter()
        .map(|rule| json!({"name": rule.name, "match": matcher(&rule.matcher), "action": action(&rule.action)}))
        .collect();
    let mut spec = json!({
        "interfaces": [{"names": ["eth0"]}],
        "mode": match policy.mode { Mode::Auto => "Auto", Mode::Native => "Native", Mode::Generic => "Generic" },
        "enforcement": match policy.enforcement { Enforcement::Enforce => "Enforce", Enforcement::DryRun => "DryRun" },
        "priority": policy.priority,
        "failsafe": failsafe(&policy.failsafe),
        "rules": rules,
    });
    if let Some(action) = policy.default_action {
        spec["defaultAction"] = json!(match action {
            DefaultAction::Drop => "Drop",
            DefaultAction::Pass => "Pass",
        });
    }
    json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "XdpPolicy", "metadata": {"name": policy.name}, "spec": spec,
    })
}

fn matcher(matcher: &Matcher) -> Value {
    let mut object = fields(&matcher.fields, "destinationPorts");
    if let Some(not) = &matcher.not {
        object.insert("not".to_owned(), Value::Object(fields(not, "destinationPorts")));
    }
    Value::Object(object)
}

fn texts<T: ToString>(values: &[T]) -> Value {
    values.iter().map(ToString::to_string).collect()
}

fn fields(fields: &Fields, ports: &str) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| {
        object.insert(name.to_owned(), value);
    };
    if let Some(protocol) = fields.protocol {
        put("protocol", json!(protocol));
    }
    if !fields.source_ports.is_empty() {
        put("sourcePorts", texts(&fields.source_ports));
    }
    if !fields.destination_ports.is_empty() {
        put(ports, texts(&fields.destination_ports));
    }
    if !fields.sources.is_empty() {
        put("sources", texts(&fields.sources));
    }
    if !fields.destinations.is_empty() {
        put("destinations", texts(&fields.destinations));
    }
    if let Some(flags) = fields.tcp_flags {
        let mut lists = Map::new();
        for (name, bits) in [("set", flags.set), ("unset", flags.unset)] {
            if bits != 0 {
                lists.insert(name.to_owned(), flag_names(bits));
            }
        }
        put("tcpFlags", Value::Object(lists));
    }
    if let [icmp] = fields.icmp[..] {
        put("icmp", json!({"type": icmp.first_type, "code": icmp.code}));
    }
    if !fields.vlan_ids.is_empty() {
        put("vlan", json!({"ids": fields.vlan_ids}));
    }
    if let Some(version) = fields.ip_version {
        put(
            "ipVersion",
            json!(match version {
                IpVersion::V4 => 4,
                IpVersion::V6 => 6,
            }),
        );
    }
    if let Some(part) = fields.fragment {
        let name = match part {
            FragmentPart::First => "First",
            FragmentPart::Later => "Later",
            FragmentPart::Any => "Any",
        };
        put("fragment", json!(name));
    }
    if let Some(length) = fields.length {
        put("length", json!(length.to_string()));
    }
    put_sets(&mut object, "source", fields.source_sets.as_ref());
    put_sets(&mut object, "destination", fields.destination_sets.as_ref());
    object
}

fn put_sets(object: &mut Map<String, Value>, side: &str, sets: Option<&SetReference>) {
    let Some(sets) = sets else { return };
    if !sets.names.is_empty() {
        object.insert(format!("{side}Sets"), json!(sets.names));
    }
    if let Some(selector) = &sets.selector {
        object.insert(format!("{side}SetSelector"), json!(selector));
    }
}

fn flag_names(bits: u8) -> Value {
    let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
    names.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0).map(|(_, name)| json!(name)).collect()
}

fn action(action: &Action) -> Value {
    match action {
        Action::Drop | Action::Pass | Action::Count => json!({"type": action.as_str()}),
        Action::RateLimit(limit) => json!({"type": "RateLimit", "rateLimit": rate_limit(limit)}),
        Action::Mark(mark) => json!({"type": "Mark", "mark": self::mark(mark)}),
        Action::Steer(steer) => json!({"type": "Steer", "steer": self::steer(steer)}),
        Action::Socket(pool) => json!({"type": "Socket", "socket": {"pool": pool}}),
    }
}

fn rate_limit(limit: &RateLimit) -> Value {
    let unit = match limit.unit {
        RateUnit::Packets => "packetsPerSecond",
        RateUnit::Bits => "bitsPerSecond",
    };
    let mut object = json!({unit: limit.rate, "burst": limit.burst});
    if let Some(prefix) = limit.per_source {
        object["per"] = json!("Source");
        object["sourcePrefix"] = json!({"v4": prefix.v4, "v6": prefix.v6});
    }
    object
}

fn mark(mark: &Mark) -> Value {
    let class = mark.class.map(|class| format!("{:x}:{:x}", class >> 16, class & 0xffff));
    json!({"mark": mark.mark, "priority": mark.priority, "class": class})
}

fn steer(steer: &Steer) -> Value {
    let cpus: Vec<String> = steer.cpus.iter().map(ToString::to_string).collect();
    json!({
        "cpus": cpus.join(","), "algorithm": format!("{:?}", steer.algorithm), "queueSize": steer.queue_size,
    })
}

fn failsafe(failsafe: &Failsafe) -> Value {
    let services: Map<String, Value> = failsafe
        .services
        .iter()
        .map(|(service, change)| {
            let change = match change {
                ServiceChange::Sources(sources) => json!({"sources": texts(sources)}),
                ServiceChange::Disabled => json!({"disabled": true}),
            };
            (service.name().to_owned(), change)
        })
        .collect();
    let mut object = json!({"services": services});
    if !failsafe.extra.is_empty() {
        object["extra"] = failsafe.extra.iter().map(|entry| Value::Object(fields(entry, "ports"))).collect();
    }
    object
}
