//! Link messages as the kernel lays them out, and damaged ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::super::attributes::push;
use super::*;

fn message(ifindex: u32, flags: libc::c_int, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = vec![0, 0];
    bytes.extend_from_slice(&1_u16.to_ne_bytes());
    bytes.extend_from_slice(&ifindex.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes.extend_from_slice(&[0; 4]);
    fill(&mut bytes);
    bytes
}

fn push_u32(bytes: &mut Vec<u8>, kind: u16, value: u32) {
    push(bytes, kind, &value.to_ne_bytes());
}

fn push_nested(bytes: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    push(bytes, kind | 0x8000, &inner);
}

fn parse(bytes: &[u8]) -> LinkMessage {
    LinkMessage::parse(bytes).unwrap()
}

#[test]
fn a_physical_nic() {
    let read = parse(&message(2, libc::IFF_UP | libc::IFF_LOWER_UP, |bytes| {
        push(bytes, libc::IFLA_IFNAME, b"eth0\0");
        push_u32(bytes, libc::IFLA_MTU, 1500);
        push_u32(bytes, libc::IFLA_NUM_RX_QUEUES, 8);
        push_u32(bytes, libc::IFLA_NUM_TX_QUEUES, 16);
        push(bytes, IFLA_STATS64, &[42_u64.to_ne_bytes(), 7_u64.to_ne_bytes()].concat());
        push_nested(bytes, IFLA_XDP, |xdp| push(xdp, IFLA_XDP_ATTACHED, &[0]));
        push_nested(bytes, IFLA_PROP_LIST, |list| {
            push(list, IFLA_ALT_IFNAME, b"enp59s0f0\0");
            push(list, IFLA_ALT_IFNAME, b"enx0a\0");
        });
        push(bytes, IFLA_PARENT_DEV_NAME, b"0000:3b:00.0\0");
        push(bytes, IFLA_PARENT_DEV_BUS_NAME, b"pci\0");
    }));
    let expected = Link {
        ifindex: 2,
        name: "eth0".into(),
        alternative_names: vec!["enp59s0f0".into(), "enx0a".into()],
        link_type: 1,
        bus_address: Some("0000:3b:00.0".into()),
        mtu: 1500,
        up: true,
        rx_queues: 8,
        tx_queues: 16,
        rx_packets: 42,
        ..Link::default()
    };
    assert_eq!(read.link, expected);
    assert_eq!(read.kernel_name, b"eth0");
    assert!(read.carrier);
}

#[test]
fn a_bonds_port_names_its_master_but_has_no_kind() {
    let read = parse(&message(3, 0, |bytes| {
        push_u32(bytes, libc::IFLA_MASTER, 9);
        push_nested(bytes, libc::IFLA_LINKINFO, |info| {
            push(info, IFLA_INFO_SLAVE_KIND, b"bond\0");
        });
    }));
    assert_eq!(read.link.kind, None);
    assert_eq!(read.link.master, Some(Master { ifindex: 9, kind: Some("bond".into()) }));
    assert!(!read.link.up);
}

#[test]
fn a_peer_is_a_parent_only_in_the_same_namespace() {
    let veth = |other_namespace: bool| {
        let bytes = message(3, 0, |bytes| {
            push_nested(bytes, libc::IFLA_LINKINFO, |info| {
                push(info, IFLA_INFO_KIND, b"veth\0");
            });
            push_u32(bytes, libc::IFLA_LINK, 5);
            if other_namespace {
                // A namespace that has no id here is -1.
                push(bytes, IFLA_LINK_NETNSID, &(-1_i32).to_ne_bytes());
            }
        });
        parse(&bytes).link
    };
    assert_eq!((veth(false).parent, veth(false).peer_in_other_namespace), (Some(5), false));
    assert_eq!((veth(true).parent, veth(true).peer_in_other_namespace), (None, true));
    assert_eq!(veth(true).kind.as_deref(), Some("veth"));
}

#[test]
fn a_vlan_has_its_id_and_no_other_kind_has_one() {
    for (kind, id) in [(&b"vlan\0"[..], Some(40)), (b"macvlan\0", None)] {
        let read = parse(&message(3, 0, |bytes| {
            push_nested(bytes, libc::IFLA_LINKINFO, |info| {
                push(info, IFLA_INFO_KIND, kind);
                push_nested(info, IFLA_INFO_DATA, |data| push(data, IFLA_VLAN_ID, &40_u16.to_ne_bytes()));
            });
        }));
        assert_eq!(read.link.vlan_id, id);
    }
}

#[test]
fn no_device_is_its_own_parent() {
    for lower in [0, 3] {
        let read = parse(&message(3, 0, |bytes| push_u32(bytes, libc::IFLA_LINK, lower)));
        assert_eq!(read.link.parent, None);
    }
}

#[test]
fn a_made_up_bus_gives_no_address() {
    let read = parse(&message(3, 0, |bytes| {
        push(bytes, IFLA_PARENT_DEV_NAME, b"netdevsim1\0");
        push(bytes, IFLA_PARENT_DEV_BUS_NAME, b"netdevsim\0");
    }));
    assert_eq!(read.link.bus_address, None);
    assert_eq!(read.parent_device.as_deref(), Some("netdevsim1"));
}

#[test]
fn one_program_with_its_mode() {
    for (number, kind, mode) in [
        (1, IFLA_XDP_DRV_PROG_ID, AttachedMode::Native),
        (2, IFLA_XDP_SKB_PROG_ID, AttachedMode::Generic),
        (3, IFLA_XDP_HW_PROG_ID, AttachedMode::Offload),
    ] {
        let read = parse(&message(3, 0, |bytes| {
            push_nested(bytes, IFLA_XDP, |xdp| {
                push_u32(xdp, kind, 77);
                push(xdp, IFLA_XDP_ATTACHED, &[number]);
                push_u32(xdp, IFLA_XDP_PROG_ID, 77);
            });
        }));
        let programs = vec![AttachedProgram { mode, program_id: 77 }];
        assert_eq!(read.link.xdp, Some(AttachedXdp { mode, program_id: 77, programs }));
    }
}

#[test]
fn programs_in_several_places_are_all_listed() {
    let read = parse(&message(3, 0, |bytes| {
        push_nested(bytes, IFLA_XDP, |xdp| {
            push_u32(xdp, IFLA_XDP_HW_PROG_ID, 12);
            push_u32(xdp, IFLA_XDP_DRV_PROG_ID, 11);
            push(xdp, IFLA_XDP_ATTACHED, &[4]);
        });
    }));
    let programs = vec![
        AttachedProgram { mode: AttachedMode::Native, program_id: 11 },
        AttachedProgram { mode: AttachedMode::Offload, program_id: 12 },
    ];
    assert_eq!(read.link.xdp, Some(AttachedXdp { mode: AttachedMode::Multi, program_id: 11, programs }));
}

#[test]
fn an_old_kernel_names_the_program_only_once() {
    let read = parse(&message(3, 0, |bytes| {
        push_nested(bytes, IFLA_XDP, |xdp| {
            push(xdp, IFLA_XDP_ATTACHED, &[1]);
            push_u32(xdp, IFLA_XDP_PROG_ID, 5);
        });
    }));
    let programs = vec![AttachedProgram { mode: AttachedMode::Native, program_id: 5 }];
    assert_eq!(read.link.xdp, Some(AttachedXdp { mode: AttachedMode::Native, program_id: 5, programs }));
}

#[test]
fn a_name_of_odd_bytes_is_kept_for_the_kernel() {
    let read = parse(&message(3, 0, |bytes| {
        push(bytes, libc::IFLA_IFNAME, b"\xff\xfe\0");
    }));
    assert_eq!(read.kernel_name, b"\xff\xfe");
    assert_eq!(read.link.name, r"\xff\xfe");
}

#[test]
fn a_message_without_a_whole_header_is_an_error() {
    for length in 0..HEADER_LENGTH {
        assert!(LinkMessage::parse(&vec![0; length]).is_err());
    }
}

#[test]
fn damage_anywhere_names_the_link_instead_of_making_another_one_of_it() {
    for kind in [libc::IFLA_LINKINFO, IFLA_PROP_LIST, IFLA_XDP] {
        let damaged = message(7, 0, |bytes| {
            push(bytes, libc::IFLA_IFNAME, b"eth0\0");
            push(bytes, kind, &[200, 0, 1, 0]);
        });
        let error = LinkMessage::parse(&damaged).unwrap_err().to_string();
        assert!(error.contains("link 7 eth0"), "{error}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        drop(LinkMessage::parse(&bytes));
    }

    #[test]
    fn no_attribute_content_panics(kind in 0_u16..70, value in proptest::collection::vec(any::<u8>(), 0..40)) {
        drop(LinkMessage::parse(&message(1, 0, |bytes| push(bytes, kind, &value))));
    }
}
