//! Which modes are tried, and what refusals mean, in words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write as _;

use rstest::rstest;
use sluice_policy::attach::{AttachMode, Refusal, attempts, refusal, retry_native};
use sluice_policy::{Channels, LinkFacts, Master, Mode};

const NATIVE: AttachMode = AttachMode::Native;
const GENERIC: AttachMode = AttachMode::Generic;

fn nic(driver: &str) -> LinkFacts {
    LinkFacts { ifindex: 2, name: "eth0".to_owned(), driver: Some(driver.to_owned()), ..LinkFacts::default() }
}

fn device(kind: &str) -> LinkFacts {
    let (name, kind) = ("eth0".to_owned(), Some(kind.to_owned()));
    LinkFacts { ifindex: 2, name, kind, rx_queues: 2, ..LinkFacts::default() }
}

fn vlan() -> LinkFacts {
    let (name, parent_name) = ("eth1.40".to_owned(), Some("eth1".to_owned()));
    LinkFacts { name, parent: Some(3), parent_name, vlan_id: Some(40), ..device("vlan") }
}

fn port_of(kind: &str) -> LinkFacts {
    let master = Some(Master { ifindex: 7, kind: Some(kind.to_owned()) });
    LinkFacts { master, ..nic("igb") }
}

fn with_mtu(mtu: u32, link: LinkFacts) -> LinkFacts {
    LinkFacts { mtu, ..link }
}

fn with_channels(channels: Channels, link: LinkFacts) -> LinkFacts {
    LinkFacts { channels: Some(channels), ..link }
}

fn combined(used: u32, maximum: u32) -> Channels {
    Channels { combined: used, max_combined: maximum, ..Channels::default() }
}

fn separate(used: u32, maximum: u32) -> Channels {
    Channels { rx: used, tx: used, max_rx: maximum, max_tx: maximum, ..Channels::default() }
}

/// Each refusal in words, under the errno, the mode and the device that led to it.
fn in_words(refused: &[(i32, AttachMode, LinkFacts)]) -> String {
    let mut text = String::new();
    for (errno, mode, link) in refused {
        let who = link.driver.as_deref().or(link.kind.as_deref()).unwrap_or("-");
        let Refusal { reason, message, remedy } = refusal(*errno, *mode, link);
        writeln!(text, "{errno} {} {who}: {reason}\n  {message}", mode.as_str()).unwrap();
        writeln!(text, "  {}", remedy.as_deref().unwrap_or("-")).unwrap();
    }
    text
}

#[test]
fn refusals_of_drivers() {
    let text = in_words(&[
        (95, NATIVE, nic("e1000e")),
        (95, NATIVE, nic("virtio_net")),
        (22, NATIVE, nic("virtio_net")),
        (22, NATIVE, with_mtu(9000, nic("virtio_net"))),
        (12, NATIVE, with_channels(combined(2, 2), nic("virtio_net"))),
        (22, NATIVE, with_mtu(9000, nic("igb"))),
        (95, NATIVE, with_mtu(4000, nic("vmxnet3"))),
        (22, NATIVE, with_mtu(9000, nic("unheard_of"))),
        (22, NATIVE, with_channels(combined(32, 32), nic("ena"))),
        (22, NATIVE, nic("ixgbe")),
        (12, NATIVE, nic("ixgbe")),
    ]);
    insta::assert_snapshot!(text);
}

#[test]
fn refusals_of_virtual_devices() {
    let text = in_words(&[
        (95, NATIVE, device("bridge")),
        (95, NATIVE, vlan()),
        (95, NATIVE, LinkFacts { parent_name: None, vlan_id: None, ..vlan() }),
        (28, NATIVE, device("veth")),
        (34, NATIVE, device("veth")),
        (4711, NATIVE, device("veth")),
    ]);
    insta::assert_snapshot!(text);
}

#[test]
fn refusals_of_the_kernel() {
    let text = in_words(&[
        (16, NATIVE, nic("igb")),
        (17, NATIVE, nic("igb")),
        (17, NATIVE, port_of("bond")),
        (1, GENERIC, nic("igb")),
        (12, GENERIC, nic("igb")),
        (19, GENERIC, nic("igb")),
        (22, GENERIC, with_mtu(9000, nic("igb"))),
    ]);
    insta::assert_snapshot!(text);
}

#[rstest]
#[case::ena_auto(with_channels(combined(32, 32), nic("ena")), Mode::Auto, &[GENERIC], &["ChannelsAboveHalf"])]
#[case::ena_native(with_channels(combined(32, 32), nic("ena")), Mode::Native, &[], &["ChannelsAboveHalf"])]
#[case::ena_generic(with_channels(combined(32, 32), nic("ena")), Mode::Generic, &[GENERIC], &[])]
#[case::ena_half(with_channels(combined(16, 32), nic("ena")), Mode::Native, &[NATIVE], &[])]
#[case::gve(with_channels(combined(8, 16), nic("gve")), Mode::Auto, &[NATIVE, GENERIC], &[])]
#[case::gve_separate(with_channels(separate(16, 16), nic("gve")), Mode::Native, &[], &["ChannelsAboveHalf"])]
#[case::stmmac(with_channels(separate(4, 4), nic("stmmac")), Mode::Auto, &[NATIVE, GENERIC], &[])]
#[case::unknown(nic("ena"), Mode::Native, &[NATIVE], &[])]
fn if_05(
    #[case] link: LinkFacts,
    #[case] mode: Mode,
    #[case] order: &[AttachMode],
    #[case] reasons: &[&str],
) {
    let attempts = attempts(mode, &link);
    assert_eq!(attempts.order, order);
    let skipped: Vec<&str> = attempts.skipped.iter().map(|refusal| refusal.reason).collect();
    assert_eq!(skipped, reasons);
}

#[test]
fn if_05_the_remedy_has_the_numbers() {
    let attempts = attempts(Mode::Auto, &with_channels(combined(32, 32), nic("ena")));
    let refusal = &attempts.skipped[0];
    assert!(refusal.message.contains("32 of 32") && refusal.message.contains("at most 16"), "{refusal:?}");
    assert!(refusal.remedy.as_ref().unwrap().contains("combined 16"), "{refusal:?}");
}

#[rstest]
#[case::wireguard(65534)]
#[case::tunnel(768)]
#[case::infiniband(32)]
fn if_03_no_mode_is_tried_without_an_ethernet_header(#[case] link_type: u16) {
    for mode in [Mode::Auto, Mode::Native, Mode::Generic] {
        let attempts = attempts(mode, &LinkFacts { link_type, ..device("tun") });
        assert_eq!(attempts.order, []);
        assert_eq!(attempts.skipped[0].reason, "NoEthernetHeader");
    }
}

#[test]
fn if_03_a_wireless_card_falls_to_generic() {
    let wireless = nic("iwlwifi");
    assert_eq!(attempts(Mode::Auto, &wireless).order, [NATIVE, GENERIC]);
    assert_eq!(refusal(95, NATIVE, &wireless).reason, "DriverNoXdp");
}

#[test]
fn native_is_tried_again_when_a_fact_changes() {
    let before = with_channels(combined(32, 32), nic("ena"));
    let renamed = LinkFacts { name: "lan0".to_owned(), ..before.clone() };
    assert!(!retry_native(&before, &before));
    assert!(!retry_native(&before, &renamed));
    let changed = [
        with_channels(combined(16, 32), before.clone()),
        with_mtu(1400, before.clone()),
        LinkFacts { driver: Some("other".to_owned()), ..before.clone() },
        LinkFacts { master: Some(Master::default()), ..before.clone() },
        LinkFacts { rx_queues: 9, ..before.clone() },
        LinkFacts { xdp_features: Some(1), ..before.clone() },
    ];
    for now in changed {
        assert!(retry_native(&before, &now), "{now:?}");
    }
    let down = LinkFacts { up: false, ..before.clone() };
    assert!(retry_native(&down, &before), "coming up may help");
    assert!(!retry_native(&before, &down), "going down does not");
}
