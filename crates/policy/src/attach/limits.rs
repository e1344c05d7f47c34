//! What drivers demand before they take a native program, in numbers.

use super::Refusal;
use crate::LinkFacts;

/// The largest MTU with which a driver takes a program that must have the frame in one buffer. Our
/// programs take frames in several buffers, but not every driver and kernel gives them.
const MTU: &[(&str, u32)] = &[
    ("virtio_net", 3506),
    ("ena", 3498),
    ("mlx4_en", 3498),
    ("mlx5_core", 3498),
    ("bnxt_en", 3502),
    ("igb", 3046),
    ("i40e", 3046),
    ("ice", 3046),
    ("ixgbe", 3050),
    ("vmxnet3", 3494),
    ("gve", 2032),
    ("igc", 1500),
    ("tun", 1500),
];

/// Drivers that want as many free channels for transmission as they use.
const HALF_OF_CHANNELS: &[&str] = &["ena", "gve"];

/// If the MTU is above what the driver is known to take.
pub(super) fn mtu_too_large(link: &LinkFacts) -> Option<Refusal> {
    let driver = link.driver.as_deref()?;
    let (_, limit) = MTU.iter().find(|(name, limit)| *name == driver && link.mtu > *limit)?;
    let name = &link.name;
    Some(Refusal {
        reason: "MtuTooLarge",
        message: format!(
            "{name} has MTU {}, and the driver {driver} takes a native program up to MTU {limit}.",
            link.mtu
        ),
        remedy: Some(format!("Lower the MTU: ip link set {name} mtu {limit}.")),
    })
}

/// If more than half of the channels are in use, and the driver minds.
pub(super) fn channels_above_half(link: &LinkFacts) -> Option<Refusal> {
    let driver = link.driver.as_deref().filter(|driver| HALF_OF_CHANNELS.contains(driver))?;
    let channels = link.channels?;
    // The two drivers differ in whether they report combined channels or one number for each direction.
    let (used, maximum, kind) = if channels.max_combined > 0 {
        (channels.combined, channels.max_combined, "combined")
    } else {
        (channels.rx.max(channels.tx), channels.max_rx.min(channels.max_tx), "rx")
    };
    let half = maximum / 2;
    if used <= half {
        return None;
    }
    let name = &link.name;
    let numbers = if kind == "rx" { format!("rx {half} tx {half}") } else { format!("combined {half}") };
    Some(Refusal {
        reason: "ChannelsAboveHalf",
        message: format!(
            "{name} uses {used} of {maximum} channels, and the driver {driver} takes a native program with at most {half}."
        ),
        remedy: Some(format!("Use fewer channels: ethtool --set-channels {name} {numbers}.")),
    })
}
