//! What `top` shows: the last answer, the rates of rules between the last two, and whether the
//! agent still answers. It neither asks nor draws.

use std::{cmp::Ordering, collections::HashMap, time::Duration};

use sluice_ipc::v1alpha1::{InterfaceStatus, RuleCounter, StatusReply};

use crate::error::Error;

/// A rule on one interface, and how many packets it matched each second.
#[derive(Clone, Debug, PartialEq)]
pub struct BusyRule {
    pub interface: String,
    /// Policy and rule, as `no-discard/udp-9`.
    pub name: String,
    /// For a dry run, that it is one: its rules do nothing to packets.
    pub action: String,
    pub packets: u64,
    /// Unknown until the second answer.
    pub packets_per_second: Option<f64>,
    /// Of a rate limit: packets above it since it counts.
    pub exceeded: Option<u64>,
}

/// What is shown.
#[derive(Debug, Default)]
pub struct Model {
    pub reply: Option<StatusReply>,
    /// Busiest first.
    pub rules: Vec<BusyRule>,
    /// Why the last question had no answer. What is shown is old then.
    pub error: Option<String>,
    taken_at: Duration,
}

type RuleKey<'a> = (&'a str, &'a str, &'a str);

impl Model {
    /// Takes an answer that came `at` a time since the start.
    pub fn take(&mut self, answer: Result<StatusReply, Error>, at: Duration) {
        match answer {
            Ok(reply) => {
                let elapsed = at.saturating_sub(self.taken_at);
                self.rules = busiest(self.reply.as_ref(), &reply, elapsed);
                (self.reply, self.error, self.taken_at) = (Some(reply), None, at);
            }
            Err(error) => self.error = Some(self.notice(&error)),
        }
    }

    /// The line may be cut: what matters comes first.
    fn notice(&self, error: &Error) -> String {
        let old = if self.reply.is_some() { ", the figures are old" } else { "" };
        match error {
            Error::Silent { seconds, .. } => format!("no answer within {seconds} seconds{old}"),
            Error::Lost { .. } | Error::Unreachable(_) => format!("agent stopped{old}: {error}"),
            _ => format!("no answer{old}: {error}"),
        }
    }
}

fn busiest(before: Option<&StatusReply>, now: &StatusReply, elapsed: Duration) -> Vec<BusyRule> {
    let before: HashMap<_, _> =
        before.into_iter().flat_map(rules).map(|(key, _, rule)| (key, rule.packets)).collect();
    let mut busy: Vec<_> = rules(now)
        .map(|(key, interface, rule)| BusyRule {
            interface: interface.name.clone(),
            name: format!("{}/{}", rule.policy, rule.rule),
            action: if rule.dry_run { "DryRun".to_owned() } else { rule.action.clone() },
            packets: rule.packets,
            packets_per_second: before.get(&key).and_then(|before| rate(*before, rule.packets, elapsed)),
            exceeded: rule.exceeded_packets,
        })
        .collect();
    // Sorting is stable: rules that nothing hits stay in the order of evaluation.
    busy.sort_by(by_rate_then_packets);
    busy
}

fn rules(reply: &StatusReply) -> impl Iterator<Item = (RuleKey<'_>, &InterfaceStatus, &RuleCounter)> {
    reply.interfaces.iter().flat_map(|interface| {
        let name = interface.name.as_str();
        interface
            .rules
            .iter()
            .map(move |rule| ((name, rule.policy.as_str(), rule.rule.as_str()), interface, rule))
    })
}

/// Counters that went back belong to a program that was attached anew: no rate then.
fn rate(before: u64, now: u64, elapsed: Duration) -> Option<f64> {
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let packets = now.checked_sub(before)? as f64;
    (!elapsed.is_zero()).then(|| packets / elapsed.as_secs_f64())
}

fn by_rate_then_packets(left: &BusyRule, right: &BusyRule) -> Ordering {
    let rate = |rule: &BusyRule| rule.packets_per_second.unwrap_or(0.0);
    rate(right).total_cmp(&rate(left)).then(right.packets.cmp(&left.packets))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn reply(rules: &[(&str, u64)]) -> StatusReply {
        let rules = rules.iter().map(|(rule, packets)| RuleCounter {
            policy: "p".into(),
            rule: (*rule).into(),
            packets: *packets,
            ..RuleCounter::default()
        });
        let interface =
            InterfaceStatus { name: "eth0".into(), rules: rules.collect(), ..InterfaceStatus::default() };
        StatusReply { interfaces: vec![interface], ..StatusReply::default() }
    }

    fn shown(model: &Model) -> Vec<(&str, Option<f64>)> {
        model.rules.iter().map(|rule| (rule.name.as_str(), rule.packets_per_second)).collect()
    }

    #[test]
    fn the_first_answer_has_no_rates_and_the_second_has() {
        let mut model = Model::default();
        model.take(Ok(reply(&[("a", 10), ("b", 90)])), Duration::from_secs(1));
        assert_eq!(shown(&model), [("p/b", None), ("p/a", None)]);
        model.take(Ok(reply(&[("a", 30), ("b", 91), ("new", 5)])), Duration::from_secs(3));
        assert_eq!(shown(&model), [("p/a", Some(10.0)), ("p/b", Some(0.5)), ("p/new", None)]);
    }

    #[test]
    fn a_counter_that_went_back_has_no_rate() {
        let mut model = Model::default();
        model.take(Ok(reply(&[("a", 10)])), Duration::from_secs(1));
        model.take(Ok(reply(&[("a", 3)])), Duration::from_secs(2));
        assert_eq!(shown(&model), [("p/a", None)]);
    }

    #[test]
    fn an_error_keeps_the_last_answer_and_the_next_answer_clears_it() {
        let mut model = Model::default();
        model.take(Ok(reply(&[("a", 10)])), Duration::from_secs(1));
        model.take(Err(Error::NoTerminal), Duration::from_secs(2));
        assert!(model.error.is_some() && model.reply.is_some());
        model.take(Ok(reply(&[("a", 40)])), Duration::from_secs(4));
        assert_eq!(model.error, None);
        assert_eq!(shown(&model), [("p/a", Some(10.0))]);
    }
}
