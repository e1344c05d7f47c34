//! What the kernel's refusal of an attach means. Link attach answers with an errno alone, and one
//! errno has several causes: the facts of the device tell them apart.

use super::errno::{
    self, EACCES, EBUSY, EEXIST, EINVAL, ENODEV, ENOMEM, ENOSPC, ENOTSUPP, EOPNOTSUPP, EPERM, ERANGE,
};
use super::{AttachMode, Refusal, limits};
use crate::LinkFacts;

/// The meaning of an errno.
#[must_use]
pub fn refusal(errno: i32, mode: AttachMode, link: &LinkFacts) -> Refusal {
    let of_driver = (mode == AttachMode::Native).then(|| of_driver(errno, link)).flatten();
    of_driver.or_else(|| of_kernel(errno, link)).unwrap_or_else(|| unknown(errno, mode, link))
}

/// What the driver may have minded.
fn of_driver(errno: i32, link: &LinkFacts) -> Option<Refusal> {
    if link.is_kind("veth") {
        return of_veth(errno, link);
    }
    // Drivers do not agree on the errno for one cause, so the known limits come first.
    if matches!(errno, EINVAL | EOPNOTSUPP | ENOTSUPP | ERANGE | ENOMEM | ENOSPC) {
        let known = limits::mtu_too_large(link).or_else(|| limits::channels_above_half(link));
        if known.is_some() {
            return known;
        }
    }
    match (link.driver.as_deref(), errno) {
        (Some("virtio_net"), EOPNOTSUPP) => Some(virtio_guest_offloads(link)),
        (Some("virtio_net"), EINVAL) => Some(virtio_layout(link)),
        (Some("virtio_net"), ENOMEM | ENOSPC) => Some(too_few_transmit_queues(link)),
        (Some("ixgbe"), ENOMEM) => Some(ixgbe_processors(link)),
        (Some("ixgbe"), EINVAL) => Some(ixgbe_settings(link)),
        (_, EOPNOTSUPP | ENOTSUPP) => Some(driver_no_xdp(link)),
        _ => None,
    }
}

fn of_veth(errno: i32, link: &LinkFacts) -> Option<Refusal> {
    let name = &link.name;
    let in_use = link.channels.map_or(link.rx_queues, |channels| channels.rx + channels.combined);
    match errno {
        ENOSPC => Some(Refusal {
            reason: "NotEnoughQueues",
            message: format!(
                "{name} has {in_use} receive queues in use, and the other end of the veth pair has more transmit queues."
            ),
            remedy: Some(format!(
                "Give {name} as many receive queues as the other end has transmit queues (ethtool --set-channels {name} \
                 rx N), or the other end fewer."
            )),
        }),
        ERANGE => Some(Refusal {
            reason: "MtuTooLarge",
            message: format!(
                "The other end of the veth pair of {name} has a larger MTU than a program can take."
            ),
            remedy: Some("Lower the MTU of the other end to 3506 or less.".to_owned()),
        }),
        EOPNOTSUPP | ENOTSUPP => Some(driver_no_xdp(link)),
        _ => None,
    }
}

/// What the kernel minds whichever the driver is.
fn of_kernel(errno: i32, link: &LinkFacts) -> Option<Refusal> {
    let name = &link.name;
    let (reason, message, remedy) = match errno {
        EBUSY => (
            "ForeignProgram",
            format!("{name} has an XDP program of somebody else, which is left alone."),
            format!("See who attached it (bpftool net show dev {name}) and have it removed there."),
        ),
        EEXIST => return Some(exists(link)),
        EPERM | EACCES => (
            "MissingCapability",
            format!("The kernel does not let the agent attach a program to {name}."),
            "Run the agent as root or with the capabilities CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON."
                .to_owned(),
        ),
        ENOMEM => (
            "OutOfMemory",
            format!("The kernel or the driver found no memory for a program on {name}."),
            "Free memory, or use fewer or shorter queues.".to_owned(),
        ),
        ENODEV => (
            "InterfaceGone",
            format!("{name} (index {}) is gone.", link.ifindex),
            "None is needed: it is looked at again when it comes back.".to_owned(),
        ),
        _ => return None,
    };
    Some(Refusal { reason, message, remedy: Some(remedy) })
}

/// `EEXIST` says that a program is in the way which is not the one in the place that was asked for.
fn exists(link: &LinkFacts) -> Refusal {
    let name = &link.name;
    match &link.master {
        Some(master) => Refusal {
            reason: "UpperDeviceHasProgram",
            message: format!(
                "{name} is a port of a {} (index {}), which has an XDP program.",
                master.kind.as_deref().unwrap_or("device"),
                master.ifindex
            ),
            remedy: Some("Select the upper device instead, or remove the program there first.".to_owned()),
        },
        None => Refusal {
            reason: "OtherModeAttached",
            message: format!(
                "{name} has an XDP program in the other mode, or a device on top of it (VLAN, bridge, bond) has one."
            ),
            remedy: Some(
                "See who attached it (bpftool net show); the kernel takes native or generic, not both."
                    .to_owned(),
            ),
        },
    }
}

fn unknown(errno: i32, mode: AttachMode, link: &LinkFacts) -> Refusal {
    let driver = link.driver.as_deref().map_or(String::new(), |driver| format!(" (driver {driver})"));
    Refusal {
        reason: "AttachFailed",
        message: format!(
            "Attaching to {}{driver} in {} mode failed with {}.",
            link.name,
            mode.as_str().to_lowercase(),
            errno::name(errno)
        ),
        remedy: Some("The kernel log may say more: dmesg.".to_owned()),
    }
}

fn driver_no_xdp(link: &LinkFacts) -> Refusal {
    let name = &link.name;
    let (message, remedy) = match (link.kind.as_deref(), link.driver.as_deref()) {
        (Some("vlan"), _) => {
            (format!("{name} is a VLAN device, which has no native mode."), Some(vlan_hint(link)))
        }
        (Some(kind), _) => {
            (format!("{name} is a device of kind {kind}, which has no native mode here."), None)
        }
        (None, Some(driver)) => {
            let remedy = "Mode Auto or Generic works with every driver.".to_owned();
            (format!("The driver {driver} of {name} has no native mode on this kernel."), Some(remedy))
        }
        (None, None) => (format!("{name} has no native mode on this kernel."), None),
    };
    Refusal { reason: "DriverNoXdp", message, remedy }
}

fn vlan_hint(link: &LinkFacts) -> String {
    let parent = match (&link.parent_name, link.parent) {
        (Some(name), _) => format!("interface {name}"),
        (None, Some(ifindex)) => format!("the interface below it (index {ifindex})"),
        (None, None) => "the interface below it".to_owned(),
    };
    let ids = link.vlan_id.map_or(String::new(), |id| format!(" [{id}]"));
    format!(
        "A policy for {parent} with match vlan.ids{ids} would be native; this release cannot match VLANs yet."
    )
}

fn virtio_guest_offloads(link: &LinkFacts) -> Refusal {
    let name = &link.name;
    Refusal {
        reason: "GuestOffloads",
        message: format!("The hypervisor hands {name} joined packets (guest offloads), which virtio_net cannot switch off."),
        remedy: Some(
            "Switch the offloads off at the hypervisor (QEMU: guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off), \
             or let it offer ctrl_guest_offloads."
                .to_owned(),
        ),
    }
}

fn virtio_layout(link: &LinkFacts) -> Refusal {
    Refusal {
        reason: "VirtioLayout",
        message: format!(
            "{} is a legacy virtio device without the feature any_layout, which native mode needs.",
            link.name
        ),
        remedy: Some("Give the guest a modern virtio device (QEMU: disable-legacy=on).".to_owned()),
    }
}

fn too_few_transmit_queues(link: &LinkFacts) -> Refusal {
    let name = &link.name;
    let numbers = link.channels.map_or(format!("{} transmit queues", link.tx_queues), |channels| {
        format!("{} of {} queue pairs in use", channels.combined, channels.max_combined)
    });
    Refusal {
        reason: "NotEnoughQueues",
        message: format!("{name} has {numbers}, and virtio_net wants a free one for each CPU."),
        remedy: Some(format!(
            "Give the guest more queue pairs than CPUs, or use fewer: ethtool --set-channels {name} combined N."
        )),
    }
}

fn ixgbe_processors(link: &LinkFacts) -> Refusal {
    Refusal {
        reason: "TooManyCpus",
        message: format!(
            "The driver ixgbe found no transmit queue for each CPU on {}: it has at most 64.",
            link.name
        ),
        remedy: Some("Use mode Generic, or start the machine with at most 64 CPUs (nr_cpus=64).".to_owned()),
    }
}

fn ixgbe_settings(link: &LinkFacts) -> Refusal {
    let name = &link.name;
    Refusal {
        reason: "DriverSettings",
        message: format!(
            "The driver ixgbe takes no native program on {name} with DCB, SR-IOV or large receive offload in use."
        ),
        remedy: Some(format!(
            "Switch off what is on: ethtool --features {name} lro off; echo 0 > /sys/class/net/{name}/device/sriov_numvfs."
        )),
    }
}

pub(super) fn without_ethernet_header(link: &LinkFacts) -> Refusal {
    Refusal { reason: "NoEthernetHeader", message: no_ethernet_header(link), remedy: None }
}

/// Why a device cannot have a program in any mode.
pub(crate) fn no_ethernet_header(link: &LinkFacts) -> String {
    format!(
        "Packets of {} have no Ethernet header (link type {}), which the parser needs.",
        link.name, link.link_type
    )
}
