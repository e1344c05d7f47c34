//! Every field: random vectors for its values, random flows, and the AND of whole vectors as the plainest way to know
//! which rules match, in their order.

use proptest::prelude::*;
use sluice_ebpf::{
    classify::{Accepted, Matched, accept},
    walk::Environment as _,
};
use sluice_ebpf_common::tables::MAX_BITS;

use crate::{
    common::{environment::Host, memory::Memory},
    content::{contents, number_of},
    flows::flows,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_rules_that_match_are_those_that_every_field_accepts(content in contents(), flows in flows()) {
        let built = content.build();
        let mut host = Host::new(&built.tables);
        host.fixed = Memory::of(&built.fixed);
        host.live = Memory::of(&built.live);
        // What one packet leaves in memory must mean nothing to the next.
        let (mut accepted, mut matched) = (Accepted::NOTHING, Matched::NOTHING);
        for flow in flows {
            accept(&built.tables, &flow, &host, &mut accepted);
            let expected = content.expected(&built, &flow);
            let is_left = |bit: &usize| expected[bit / 64] & 1 << (bit % 64) != 0;
            let mut numbers: Vec<usize> = (0..MAX_BITS).filter(is_left).map(number_of).collect();
            numbers.sort_unstable();
            let first = accepted.scan(&built.tables, host.all_merged(), &mut matched);
            prop_assert_eq!(first as usize, numbers.first().copied().unwrap_or(MAX_BITS), "{:?}", flow);
            let taken = std::iter::repeat_with(|| matched.take(&built.tables) as usize);
            let taken: Vec<usize> = taken.take_while(|number| *number < MAX_BITS).collect();
            prop_assert_eq!(taken, numbers, "{:?}", flow);
        }
    }
}
