//! The reference evaluator: slow and obvious. It reads a frame with a dissector of its own, goes through the
//! rules one by one, and says why each matched or did not. Tests hold the tables of the compiler and the
//! program in the kernel to it, so it shares no code with either; `sluicectl explain` shows its words. No
//! packet is ever judged by it in production.

mod dissect;
mod evaluate;
mod explain;
mod limits;
mod matching;
mod packet;
mod words;

pub use dissect::dissect;
pub use evaluate::{Decision, Marks, Verdict, evaluate};
pub use explain::{Explanation, RuleExplanation, Step, explain};
pub use limits::{Exhausted, Limits, NoSets, Sets, TokenBuckets, Unlimited};
pub use matching::matches;
pub use packet::{FragmentPlace, Packet};
