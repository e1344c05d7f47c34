//! What a rule does, in words.

use sluice_policy::{Action, Mark, RateLimit, RateUnit, Steer};

/// What happens to a packet that matches.
pub fn action(action: &Action) -> String {
    match action {
        Action::Drop => "drop it".to_owned(),
        Action::Pass => "pass it to the host".to_owned(),
        Action::Count => "count it and go on".to_owned(),
        Action::RateLimit(rate) => format!("drop what exceeds {}, go on with the rest", rate_limit(rate)),
        Action::Mark(given) => format!("give it {} and go on", mark(*given)),
        Action::Steer(steer) => steer_words(steer),
        Action::Socket(pool) => format!("hand it to a socket of pool {pool}"),
    }
}

fn rate_limit(rate: &RateLimit) -> String {
    let unit = match rate.unit {
        RateUnit::Packets => "packets",
        RateUnit::Bits => "bits",
    };
    let who = match rate.per_source {
        None => "all together".to_owned(),
        Some(prefix) => match (prefix.v4, prefix.v6) {
            (32, 128) => "each source address".to_owned(),
            (v4, v6) => format!("each source /{v4} (IPv4) or /{v6} (IPv6)"),
        },
    };
    format!("{} {unit}/s and bursts of {}, for {who}", rate.rate, rate.burst)
}

fn mark(Mark { mark, priority, class }: Mark) -> String {
    let mark = mark.map(|mark| format!("mark {mark:#x}"));
    let priority = priority.map(|priority| format!("priority {priority}"));
    let class = class.map(|class| format!("class {:x}:{:x}", class >> 16, class & 0xffff));
    mark.into_iter().chain(priority).chain(class).collect::<Vec<_>>().join(" and ")
}

fn steer_words(steer: &Steer) -> String {
    format!(
        "pass it on CPU {} by {:?}, with at most {} waiting",
        ranges(&steer.cpus),
        steer.algorithm,
        steer.queue_size
    )
}

/// `2-5,8`, as CPU lists are written.
fn ranges(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let words = ranges.iter().map(
        |(first, last)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        },
    );
    words.collect::<Vec<_>>().join(",")
}
