//! Settings of a rate limit.

use serde_json::Value;
use sluice_api::RateLimitScope;

use crate::problem::{Finding, Findings, Reason};
use crate::{RateLimit, RateUnit, SourcePrefix};

/// Bits of the largest ordinary frame: less than that would hold up every full packet.
const FRAME_BITS: u64 = 1518 * 8;

/// Reads `rateLimit`. Absent: something about it was refused.
pub(super) fn check(path: &str, value: &Value, findings: &mut Findings) -> Option<RateLimit> {
    let per_source = per_source(path, value, findings);
    let (rate, unit) = rate(path, value, findings)?;
    let least = match unit {
        RateUnit::Packets => 1,
        RateUnit::Bits => FRAME_BITS,
    };
    let burst = value["burst"].as_u64().unwrap_or_else(|| (rate / 10).max(least));
    Some(RateLimit { rate, unit, burst, per_source })
}

fn rate(path: &str, value: &Value, findings: &mut Findings) -> Option<(u64, RateUnit)> {
    let (packets, bits) = (value["packetsPerSecond"].as_u64(), value["bitsPerSecond"].as_u64());
    match (packets, bits) {
        (Some(packets), None) => Some((packets, RateUnit::Packets)),
        (None, Some(bits)) => Some((bits, RateUnit::Bits)),
        (Some(_), Some(_)) => {
            let message = "a rate is in packets or in bits, and packetsPerSecond is given too";
            let fix = "Remove one of them; a second rule can limit by the other";
            let path = format!("{path}.bitsPerSecond");
            findings.push(Finding::new(path, Reason::MutuallyExclusive, message, fix));
            None
        }
        (None, None) => {
            let is_lost =
                ["packetsPerSecond", "bitsPerSecond"].iter().any(|field| findings.has_lost(path, field));
            if !is_lost {
                let fix = "Add packetsPerSecond or bitsPerSecond";
                findings.push(Finding::new(path, Reason::MissingField, "it names no rate", fix));
            }
            None
        }
    }
}

fn per_source(path: &str, value: &Value, findings: &mut Findings) -> Option<SourcePrefix> {
    let prefix = &value["sourcePrefix"];
    if super::word(&value["per"]) == Some(RateLimitScope::Source) {
        let length = |field: &str, default| {
            prefix[field].as_u64().and_then(|length| u8::try_from(length).ok()).unwrap_or(default)
        };
        return Some(SourcePrefix { v4: length("v4", 32), v6: length("v6", 64) });
    }
    if !prefix.is_null() && !findings.has_lost(path, "per") {
        let message = "all packets share one rate, whatever their source";
        let path = format!("{path}.sourcePrefix");
        findings.push(Finding::new(
            path,
            Reason::WrongSettings,
            message,
            "Add per: Source, or remove sourcePrefix",
        ));
    }
    None
}
