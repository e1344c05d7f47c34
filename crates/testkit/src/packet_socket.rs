//! A packet socket that sends whole frames through one device. It never receives.
#![allow(clippy::cast_possible_truncation, reason = "The kernel's small types hold small constants.")]
#![allow(unsafe_code, reason = "rustix knows neither the address nor the options of packet sockets.")]

use anyhow::{Context as _, Result, ensure};
use rustix::io::Errno;
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{
    AddressFamily, MMsgHdr, SendAncillaryBuffer, SendFlags, SocketType, bind, netdevice, sendmmsg, socket,
};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Frames that one system call hands over.
const BATCH: usize = 64;

pub(crate) struct PacketSocket(OwnedFd);

/// What became of one batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    /// Frames that the device took.
    pub(crate) taken: usize,
    /// Whether the device refused the frame after them.
    pub(crate) refused: bool,
}

impl PacketSocket {
    /// A socket for `device` in the namespace of the calling thread.
    pub(crate) fn open(device: &str) -> Result<Self> {
        // Protocol 0: the socket receives nothing, whatever it is bound to.
        let socket = socket(AddressFamily::PACKET, SocketType::RAW, None).context("open a packet socket")?;
        let ifindex =
            netdevice::name_to_index(&socket, device).with_context(|| format!("find device {device}"))?;
        let address = Address(ifindex.try_into().context("index of the device")?);
        bind(&socket, &address).with_context(|| format!("bind a packet socket to {device}"))?;
        Ok(Self(socket))
    }

    /// Sends past the queueing discipline: faster, but a full device drops instead of holding up.
    pub(crate) fn bypass_queueing(&self) -> Result<()> {
        let on: libc::c_int = 1;
        // SAFETY: pointer and size are those of `on`, which outlives the call; the kernel only reads it.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const on).cast(),
                u32::try_from(size_of_val(&on))?,
            )
        };
        ensure!(result == 0, "set PACKET_QDISC_BYPASS: {}", io::Error::last_os_error());
        Ok(())
    }

    /// Sends up to one batch of `frames`, from the first.
    pub(crate) fn send(&self, frames: &[IoSlice<'_>]) -> io::Result<Sent> {
        let mut controls: [_; BATCH] = std::array::from_fn(|_| SendAncillaryBuffer::default());
        let mut messages: Vec<_> = frames
            .chunks(1)
            .zip(&mut controls)
            .map(|(frame, control)| MMsgHdr::new(frame, control))
            .collect();
        match sendmmsg(&self.0, &mut messages, SendFlags::empty()) {
            Ok(taken) => Ok(Sent { taken, refused: false }),
            // A full device or queue.
            Err(Errno::NOBUFS | Errno::AGAIN) => Ok(Sent { taken: 0, refused: true }),
            Err(error) => Err(error.into()),
        }
    }
}

/// `struct sockaddr_ll` for one device.
struct Address(libc::c_int);

// SAFETY: the pointer given to the closure is to a valid `sockaddr_ll` on this stack frame, with its right
// size and family, for the whole call.
unsafe impl SocketAddrArg for Address {
    unsafe fn with_sockaddr<R>(&self, f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R) -> R {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET.cast_unsigned() as libc::c_ushort,
            sll_protocol: 0,
            sll_ifindex: self.0,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        f((&raw const address).cast(), size_of_val(&address) as SocketAddrLen)
    }
}
