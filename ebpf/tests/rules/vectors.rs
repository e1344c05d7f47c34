//! Every field: random vectors for its values, random flows, and the AND of whole vectors as the plainest way to know
//! which bits are left.

use proptest::{collection::vec, prelude::*};
use sluice_ebpf::{
    classify::{Accepted, accept},
    walk::Environment as _,
};
use sluice_ebpf_common::tables::{FIELDS, MAX_BITS, WORDS};

use crate::{
    common::{addresses::prefix, environment::Host, memory::Memory},
    content::{Content, Vector},
    flows::flows,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn the_bits_left_are_those_that_every_field_accepts(content in contents(), flows in flows()) {
        let built = content.build();
        let mut host = Host::new(&built.tables);
        host.fixed = Memory::of(&built.fixed);
        host.live = Memory::of(&built.live);
        // What one packet leaves in memory must mean nothing to the next.
        let mut accepted = Accepted::NOTHING;
        for flow in flows {
            accept(&built.tables, &flow, &host, &mut accepted);
            let mut left = [0_u64; WORDS];
            let mut from = 0;
            while from < MAX_BITS {
                let bit = accepted.first(&built.tables, host.all_merged(), from);
                prop_assert!(bit >= from);
                if bit < MAX_BITS {
                    left[bit / 64] |= 1 << (bit % 64);
                }
                from = bit + 1;
            }
            prop_assert_eq!(left, content.expected(&built, &flow), "{:?}", flow);
        }
    }
}

/// Prefixes that meet the addresses of [`flows`] too.
fn contents() -> impl Strategy<Value = Content> {
    let fields = 1..1_u32 << FIELDS;
    let pool = (vec(vector(), FIELDS), vec(vector(), 1..12));
    let sets = vec((prefix(), 1..1_u64 << 9), 0..20);
    (fields, pool, vec(any::<u16>(), 0..30), vec(prefix(), 0..20), sets, any::<u64>()).prop_map(
        |(fields, (wild, entries), bounds, listed, sets, seed)| Content {
            fields,
            wild,
            entries,
            bounds,
            listed,
            sets,
            seed,
        },
    )
}

/// Dense in a few words, the same few for all, or hardly a bit would be left.
fn vector() -> impl Strategy<Value = Vector> {
    vec((proptest::sample::select(vec![0, 1, 7, 8, 30, 31]), any::<[u64; 3]>()), 0..6).prop_map(|words| {
        let mut vector = [0; WORDS];
        for (word, [a, b, c]) in words {
            vector[word] = a | b | c;
        }
        vector
    })
}
