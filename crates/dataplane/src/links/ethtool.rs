//! Driver and channels by the ethtool ioctl, the only way to a driver's name that every kernel has and
//! that sees the right network namespace (sysfs shows the one it was mounted in).
//!
//! A device that fails to answer is not told from one that has nothing to say: some drivers refuse while the
//! device is down or being reset, and one odd device must not hide all others. Never changes a setting.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::attributes::text_of;
use super::error::LinksError;
use super::link::Channels;

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GCHANNELS: u32 = 0x3c;

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    version: [u8; 32],
    firmware_version: [u8; 32],
    bus_info: [u8; 32],
    erom_version: [u8; 32],
    reserved: [u8; 12],
    lengths: [u32; 5],
}
const _: () = assert!(size_of::<DriverInfo>() == 196);

/// `struct ethtool_channels`.
#[repr(C)]
struct ChannelCounts {
    command: u32,
    max_rx: u32,
    max_tx: u32,
    max_other: u32,
    max_combined: u32,
    rx: u32,
    tx: u32,
    other: u32,
    combined: u32,
}
const _: () = assert!(size_of::<ChannelCounts>() == 36);

/// A structure that the kernel fills in.
///
/// # Safety
/// The first field is the command, and the structure is exactly as long as that command's structure in
/// the kernel; any bytes are a valid value.
unsafe trait Command {}
// SAFETY: laid out as in linux/ethtool.h, of integers only; the sizes are asserted above.
unsafe impl Command for DriverInfo {}
// SAFETY: laid out as in linux/ethtool.h, of integers only; the sizes are asserted above.
unsafe impl Command for ChannelCounts {}

/// Driver name, and the bus address that the driver gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Driver {
    pub name: String,
    pub bus_info: String,
}

/// A socket that carries ethtool requests into its network namespace.
pub(super) struct Ethtool(OwnedFd);

impl Ethtool {
    pub fn open() -> Result<Self, LinksError> {
        socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map(Self)
            .map_err(|errno| LinksError::Open { what: "ethtool", source: errno.into() })
    }

    /// `None`: the device does not say, or does not exist.
    pub fn driver(&self, interface: &[u8]) -> Option<Driver> {
        let mut info = DriverInfo {
            command: ETHTOOL_GDRVINFO,
            driver: [0; 32],
            version: [0; 32],
            firmware_version: [0; 32],
            bus_info: [0; 32],
            erom_version: [0; 32],
            reserved: [0; 12],
            lengths: [0; 5],
        };
        self.ask(interface, &mut info).ok()?;
        Some(Driver { name: text_of(&info.driver), bus_info: text_of(&info.bus_info) })
    }

    /// `None`: the device has no notion of channels, or does not say.
    pub fn channels(&self, interface: &[u8]) -> Option<Channels> {
        let mut counts = ChannelCounts {
            command: ETHTOOL_GCHANNELS,
            max_rx: 0,
            max_tx: 0,
            max_other: 0,
            max_combined: 0,
            rx: 0,
            tx: 0,
            other: 0,
            combined: 0,
        };
        self.ask(interface, &mut counts).ok()?;
        Some(Channels {
            rx: counts.rx,
            tx: counts.tx,
            other: counts.other,
            combined: counts.combined,
            max_rx: counts.max_rx,
            max_tx: counts.max_tx,
            max_other: counts.max_other,
            max_combined: counts.max_combined,
        })
    }

    fn ask<C: Command>(&self, interface: &[u8], command: &mut C) -> io::Result<()> {
        let mut name: [libc::c_char; libc::IFNAMSIZ] = [0; libc::IFNAMSIZ];
        if interface.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (target, source) in name.iter_mut().zip(interface) {
            *target = source.cast_signed();
        }
        let data: *mut c_void = (&raw mut *command).cast();
        let mut request =
            libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: data.cast() } };
        // SAFETY: the request is a whole ifreq with a NUL-terminated name; its data points to a structure of
        // the length that the kernel writes for the command (promised by `Command`), alive until the return.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_that_cannot_exist_has_no_driver() {
        let ethtool = Ethtool::open().unwrap();
        for name in [&b""[..], b"no-such-device", b"longer-than-any-name-can-be", b"\xff\x01"] {
            assert_eq!(ethtool.driver(name), None);
            assert_eq!(ethtool.channels(name), None);
        }
    }

    #[test]
    fn the_loopback_has_no_channels() {
        assert_eq!(Ethtool::open().unwrap().channels(b"lo"), None);
    }
}
