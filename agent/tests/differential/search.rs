//! Looks for a disagreement: random policies, each with many random frames, from a seed. What is found is made smaller.

use std::cell::RefCell;
use std::fmt;

use proptest::array::uniform32;
use proptest::prelude::*;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use proptest::tuple::TupleValueTree;

use crate::comparison::{Disagreement, Tampering, compare};
use crate::packets::frame;
use crate::policies::{Input, inputs};
use crate::program::Machine;

/// Frames for each set of policies.
const FRAMES: usize = 1600;
/// Where many rules make the reference slow.
const FRAMES_OF_MANY_RULES: usize = 300;
const MANY_RULES: usize = 200;
/// Attempts to make a disagreement smaller.
const SHRINKS: u32 = 2000;
const SHRINK_MILLISECONDS: u32 = 60_000;

/// A search that goes on where it was.
pub struct Search {
    machine: RefCell<Machine>,
    runner: TestRunner,
    seed: u64,
    pub inputs: usize,
    pub pairs: usize,
    shrinks: bool,
}

/// Choices that make a frame.
type Bytes = ([u8; 32], [u8; 32]);

/// A disagreement, as small as it got.
pub struct Found {
    seed: u64,
    input: Input,
    disagreement: Disagreement,
}

impl Search {
    pub fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config {
            max_shrink_iters: SHRINKS,
            max_shrink_time: SHRINK_MILLISECONDS,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let runner = TestRunner::new_with_rng(config, rng);
        Self { machine: RefCell::new(Machine::new()), runner, seed, inputs: 0, pairs: 0, shrinks: true }
    }

    /// For who wants to know only whether something is found.
    pub fn without_shrinking(mut self) -> Self {
        self.shrinks = false;
        self
    }

    /// One more set of policies, with its frames.
    pub fn step(&mut self, tampering: &dyn Tampering) -> Result<(), Box<Found>> {
        let policies = inputs().new_tree(&mut self.runner).unwrap();
        let input = policies.current();
        let Some(plan) = input.plan() else { return Ok(()) };
        let count = if plan.rules.len() > MANY_RULES { FRAMES_OF_MANY_RULES } else { FRAMES };
        let strategy = choices();
        let trees: Vec<_> = (0..count).map(|_| strategy.new_tree(&mut self.runner).unwrap()).collect();
        let frames: Vec<Vec<u8>> = trees.iter().map(|tree| frame_of(&tree.current())).collect();
        self.inputs += 1;
        self.pairs += frames.len();
        let result = compare(&mut self.machine.borrow_mut(), &input, &plan, &frames, tampering);
        result.map_err(|disagreement| {
            if !self.shrinks {
                return Box::new(Found { seed: self.seed, input, disagreement });
            }
            let tree = trees.into_iter().nth(disagreement.frame).unwrap();
            Box::new(self.shrink(policies, tree, input, disagreement, tampering))
        })
    }

    /// The frame alone mostly shows it. Where it does not, all that was found is told.
    fn shrink(
        &mut self,
        policies: impl ValueTree<Value = Input>,
        choices: impl ValueTree<Value = Bytes>,
        input: Input,
        disagreement: Disagreement,
        tampering: &dyn Tampering,
    ) -> Found {
        let machine = &self.machine;
        let alone = |input: &Input, bytes: &Bytes| {
            let Some(plan) = input.plan() else { return Ok(()) };
            compare(&mut machine.borrow_mut(), input, &plan, &[frame_of(bytes)], tampering)
        };
        let pair = TupleValueTree::new((policies, choices));
        let result = self.runner.run_one(pair, |(input, bytes)| {
            alone(&input, &bytes).map_err(|found| TestCaseError::fail(found.message))
        });
        match result {
            Err(TestError::Fail(_, (input, bytes))) => {
                let disagreement = alone(&input, &bytes).err().unwrap_or(disagreement);
                Found { seed: self.seed, input, disagreement }
            }
            _ => Found { seed: self.seed, input, disagreement },
        }
    }
}

fn choices() -> impl Strategy<Value = Bytes> {
    (uniform32(any::<u8>()), uniform32(any::<u8>()))
}

fn frame_of(bytes: &Bytes) -> Vec<u8> {
    frame(&[bytes.0, bytes.1].concat())
}

impl fmt::Display for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "seed {}: the program and the reference disagree", self.seed)?;
        for policy in &self.input.policies {
            writeln!(formatter, "{policy}")?;
        }
        writeln!(formatter, "sets: {:?}", self.input.sets)?;
        writeln!(formatter, "{}", self.disagreement.message)
    }
}
