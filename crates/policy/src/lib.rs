//! Policies and node facts to a plan. Everything here is a pure function of its arguments: no I/O,
//! no clock, no async, no client. The agent, the CLI and the tests use the same functions.
#![forbid(unsafe_code)]

mod action;
pub mod attach;
mod check;
pub mod cidr_set;
mod compile;
mod duplicates;
mod facts;
pub mod failsafe;
mod matcher;
mod names;
mod not_carried_out;
mod parse;
mod pattern;
mod plan;
mod policy;
mod problem;
pub mod reference;
mod schema;
mod select;
mod tables;
mod yaml;

pub use action::{Action, Mark, RateLimit, RateUnit, SourcePrefix, Steer};
pub use check::prefix;
pub use check::protocol_name;
pub use cidr_set::CidrSet;
pub use compile::{MAX_USER_RULES, compile};
pub use duplicates::refuse_duplicates;
pub use facts::{Channels, LinkFacts, Master, Node, NodeFacts, SetFacts};
pub use failsafe::Failsafe;
pub use matcher::{
    Fields, FragmentPart, FrameKind, IcmpRange, IpVersion, LengthRange, Matcher, PortRange, SetReference,
    TcpFlags,
};
pub use names::{is_policy_file, is_set_file, max_file_bytes};
pub use parse::{Document, MAX_FILE_BYTES, ParsedFile, SetDocument, parse_document, parse_file};
pub use pattern::NamePattern;
pub use plan::{
    Conflict, DEFAULT_ACTION, InterfacePlan, NodePlan, PlannedRule, PolicyReport, Skipped, Warning,
};
pub use policy::{InterfaceSelector, Policy, Rule};
pub use problem::{Problem, Reason};
pub use sluice_api::{DefaultAction, Enforcement, MAX_POLICY_RULES, Mode};
pub use tables::{Bindings, CompiledRules, DoesNotFit};
