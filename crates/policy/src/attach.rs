//! Decisions about attaching: which modes to try, what a refusal means, and when to try again. It
//! asks the kernel nothing and knows its answers only as errno.

mod errno;
mod limits;
mod refusal;

use serde::Serialize;

pub(crate) use refusal::no_ethernet_header;
pub use refusal::refusal;

use crate::{LinkFacts, Mode};

/// A mode in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum AttachMode {
    /// In the driver.
    Native,
    /// In the network stack.
    Generic,
}

impl AttachMode {
    /// The name as status shows it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "Native",
            Self::Generic => "Generic",
        }
    }
}

/// Which modes to try, and why others are not worth a try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempts {
    /// Modes in the order in which they are to be tried; the first that works stays.
    pub order: Vec<AttachMode>,
    /// Why a mode that was asked for is not in `order`.
    pub skipped: Vec<Refusal>,
}

/// Why a program is not attached, or not in the mode that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// `CamelCase` word.
    pub reason: &'static str,
    /// What is in the way, with the numbers, as one sentence.
    pub message: String,
    /// What would help, as one sentence.
    pub remedy: Option<String>,
}

/// The modes to try on a device. One is left out only where a fact rules it out for certain: a
/// refused attempt costs nothing and tells more than a guess.
#[must_use]
pub fn attempts(mode: Mode, link: &LinkFacts) -> Attempts {
    let mut order = match mode {
        Mode::Auto => vec![AttachMode::Native, AttachMode::Generic],
        Mode::Native => vec![AttachMode::Native],
        Mode::Generic => vec![AttachMode::Generic],
    };
    if !link.has_ethernet_header() {
        return Attempts { order: Vec::new(), skipped: vec![refusal::without_ethernet_header(link)] };
    }
    let certain = limits::channels_above_half(link);
    let skipped: Vec<Refusal> = certain.into_iter().filter(|_| order.contains(&AttachMode::Native)).collect();
    if !skipped.is_empty() {
        order.retain(|attempt| *attempt != AttachMode::Native);
    }
    Attempts { order, skipped }
}

/// Whether a fact that may have been the reason of a refusal is another now.
#[must_use]
pub fn retry_native(at_refusal: &LinkFacts, now: &LinkFacts) -> bool {
    fn facts(link: &LinkFacts) -> impl PartialEq {
        let who = (link.ifindex, link.kind.clone(), link.driver.clone(), link.bus_address.clone());
        let size = (link.mtu, link.channels, link.rx_queues, link.tx_queues, link.xdp_features);
        (who, size, link.master.clone(), link.peer_in_other_namespace)
    }
    let came_up = now.up && !at_refusal.up;
    came_up || facts(at_refusal) != facts(now)
}
