//! Rates and marks.

use sluice_ebpf_common::{
    Tables,
    tables::{GIVES_MARK, GIVES_PRIORITY, Limit, MAX_PARAMETERS, Marking, RATE_SHIFT},
};

use super::DoesNotFit;
use crate::{Action, Mark, PlannedRule, RateLimit, RateUnit};

/// Nanoseconds of a second in the units of a [`Limit`].
const SECOND: u128 = 1_000_000_000 << RATE_SHIFT;
/// Bits of the largest frame there can be (256 KiB and more do not occur), for the horizon of a bucket.
const LARGEST_FRAME: u128 = 1 << 21;
/// How far the clocks that two CPUs have read may lie apart when they meet at a bucket: one may have been held up between
/// reading the clock and the bucket.
const HELD_UP: u128 = 10 * SECOND;
/// Longest time that a burst may last, so that sums do not overflow.
const LONGEST: u128 = 1 << 59;

/// How many of each are in use.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    limits: usize,
    marks: usize,
}

impl Parameters {
    /// Adds what the action of a rule needs.
    pub(super) fn add(
        &mut self,
        tables: &mut Tables,
        rule: &PlannedRule,
        exceeded_slot: u16,
    ) -> Result<(), DoesNotFit> {
        let full = DoesNotFit { what: "rules of one action", most: MAX_PARAMETERS };
        match &rule.action {
            Action::RateLimit(rate) => {
                *tables.limits.get_mut(self.limits).ok_or(full)? = limit(rate, exceeded_slot);
                self.limits += 1;
            }
            Action::Mark(mark) => {
                *tables.markings.get_mut(self.marks).ok_or(full)? = marking(mark);
                self.marks += 1;
            }
            _ => {}
        }
        Ok(())
    }

    /// Index of what was last added for such an action.
    pub(super) fn last(&self, action: &Action) -> u16 {
        let count = match action {
            Action::RateLimit(_) => self.limits,
            Action::Mark(_) => self.marks,
            _ => 0,
        };
        u16::try_from(count.saturating_sub(1)).unwrap_or(0)
    }

    /// Whether any rule marks.
    pub(super) const fn marks(&self) -> bool {
        self.marks > 0
    }
}

fn limit(rate: &RateLimit, exceeded_slot: u16) -> Limit {
    let bits = rate.unit == RateUnit::Bits;
    // As precise as 40 bits allow: a cost is rounded down by less than one unit for each packet.
    let shift = (0..40).rev().find(|shift| (SECOND << shift) / u128::from(rate.rate) < 1 << 40).unwrap_or(0);
    let multiplier = (SECOND << shift) / u128::from(rate.rate);
    let time = |amount: u128| (amount * SECOND / u128::from(rate.rate)).min(LONGEST);
    let burst = time(u128::from(rate.burst));
    let horizon = burst + time(if bits { LARGEST_FRAME } else { 1 }) + HELD_UP;
    let narrow = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
    Limit {
        multiplier: narrow(multiplier),
        burst: narrow(burst),
        horizon: narrow(horizon),
        shift: u8::try_from(shift).unwrap_or(0),
        bits: u8::from(bits),
        per_source: u8::from(rate.per_source.is_some()),
        prefix_v4: rate.per_source.map_or(0, |prefix| prefix.v4),
        prefix_v6: rate.per_source.map_or(0, |prefix| prefix.v6),
        padding: 0,
        exceeded_slot,
    }
}

fn marking(mark: &Mark) -> Marking {
    let priority = mark.priority.or(mark.class);
    let given = |given: bool, flag: u32| if given { flag } else { 0 };
    Marking {
        given: given(mark.mark.is_some(), GIVES_MARK) | given(priority.is_some(), GIVES_PRIORITY),
        mark: mark.mark.unwrap_or(0),
        priority: priority.unwrap_or(0),
    }
}
