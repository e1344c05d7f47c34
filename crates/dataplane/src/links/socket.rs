//! One netlink request and the whole of its answer. Knows no family and no attribute.

use std::io;
use std::time::Duration;

use netlink_packet_core::{DecodeError, NetlinkBuffer};
use netlink_sys::{Socket, SocketAddr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};

use super::attributes::u32_of;
use super::error::LinksError;

/// More than the kernel puts into one datagram, unless virtual functions are asked for, which we do not.
pub(super) const DATAGRAM: usize = 64 * 1024;
const HEADER_LENGTH: usize = 16;
const KERNEL: u32 = 0;
/// The answer is made while the request is sent; only a lost answer takes any time at all.
const PATIENCE: Duration = Duration::from_secs(5);

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_DUMP: u16 = 0x300;
/// Of a change: put the object in the place of the one that is there.
pub(crate) const NLM_F_REPLACE: u16 = 0x100;
/// Of a change: fail where there is one.
pub(crate) const NLM_F_EXCL: u16 = 0x200;
/// Of a change: make it where there is none.
pub(crate) const NLM_F_CREATE: u16 = 0x400;

/// What is asked of the kernel.
pub(crate) struct Request<'a> {
    /// The kernel's name of the request, for error messages.
    pub name: &'static str,
    pub message_type: u16,
    /// All objects instead of one.
    pub dump: bool,
    /// What the request may do, beside asking: `NLM_F_CREATE` and its like; 0 to read or delete.
    pub change: u16,
    pub payload: &'a [u8],
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Complete,
    /// Objects changed during the dump: some may be missing or doubled.
    Interrupted,
}

/// A netlink socket in the network namespace of the thread that opened it.
pub(crate) struct NetlinkSocket {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl NetlinkSocket {
    pub fn open(protocol: isize, what: &'static str) -> Result<Self, LinksError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(protocol)?;
            socket.bind_auto()?;
            set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
            Ok(socket)
        };
        let socket = open().map_err(|source| LinksError::Open { what, source })?;
        Ok(Self { socket, sequence: 0, buffer: Vec::with_capacity(DATAGRAM) })
    }

    /// Sends `request` and hands each object of the answer to `each`.
    pub fn request(
        &mut self,
        request: &Request<'_>,
        each: &mut dyn FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<Answer, LinksError> {
        self.sequence = self.sequence.wrapping_add(1);
        let failed = |source| LinksError::Request { request: request.name, source };
        self.socket.send(&encode(request, self.sequence), 0).map_err(failed)?;
        let mut progress = Progress { sequence: self.sequence, ..Progress::default() };
        while !progress.ended {
            let sender = receive(&self.socket, &mut self.buffer, 0).map_err(failed)?;
            if sender == KERNEL {
                progress.datagram(&self.buffer, each);
            }
        }
        if let Some(errno) = progress.errno {
            return Err(failed(io::Error::from_raw_os_error(errno)));
        }
        match progress.malformed {
            Some(source) => Err(LinksError::Malformed { request: request.name, source }),
            None if progress.interrupted => Ok(Answer::Interrupted),
            None => Ok(Answer::Complete),
        }
    }
}

/// Receives one datagram into `buffer` and returns the sender's port.
pub(super) fn receive(socket: &Socket, buffer: &mut Vec<u8>, flags: libc::c_int) -> io::Result<u32> {
    buffer.clear();
    buffer.reserve(DATAGRAM);
    let (length, sender): (usize, SocketAddr) = socket.recv_from(buffer, flags | libc::MSG_TRUNC)?;
    if length > buffer.len() {
        return Err(io::Error::other(format!("a datagram of {length} bytes is longer than expected")));
    }
    Ok(sender.port_number())
}

/// What has been learnt of an answer so far.
#[derive(Default)]
struct Progress {
    sequence: u32,
    ended: bool,
    interrupted: bool,
    errno: Option<i32>,
    malformed: Option<DecodeError>,
}

impl Progress {
    /// A malformed object does not end the reading: the rest of the answer has to leave the socket.
    fn datagram(&mut self, bytes: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<(), DecodeError>) {
        for message in messages(bytes) {
            let result = message.and_then(|message| self.message(&message, each));
            if let Err(error) = result {
                self.malformed.get_or_insert(error);
            }
        }
    }

    fn message(
        &mut self,
        message: &NetlinkBuffer<&[u8]>,
        each: &mut dyn FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if message.sequence_number() != self.sequence {
            return Ok(());
        }
        self.interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
        match message.message_type() {
            // Some dumps lack NLM_F_MULTI, so the end is told by these two alone.
            NLMSG_ERROR | NLMSG_DONE => {
                self.ended = true;
                // Both begin with a negative errno, or zero.
                let code = u32_of(message.payload()).unwrap_or_default().cast_signed();
                self.errno = (code < 0).then(|| code.wrapping_neg());
                Ok(())
            }
            _ => each(message.payload()),
        }
    }
}

/// Splits a datagram into its messages.
pub(super) fn messages(bytes: &[u8]) -> impl Iterator<Item = Result<NetlinkBuffer<&[u8]>, DecodeError>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let message = NetlinkBuffer::new_checked(rest);
        let length = message.as_ref().map_or(rest.len(), |message| message.length() as usize);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

fn encode(request: &Request<'_>, sequence: u32) -> Vec<u8> {
    let flags = NLM_F_REQUEST | request.change | if request.dump { NLM_F_DUMP } else { NLM_F_ACK };
    let length = u32::try_from(HEADER_LENGTH + request.payload.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEADER_LENGTH + request.payload.len());
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&request.message_type.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes.extend_from_slice(&sequence.to_ne_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(request.payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(message_type: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let request = Request { name: "test", message_type, dump: false, change: 0, payload };
        let mut bytes = encode(&request, sequence);
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn read(datagram: &[u8]) -> (Progress, Vec<Vec<u8>>) {
        let (mut progress, mut seen) = (Progress { sequence: 7, ..Progress::default() }, Vec::new());
        progress.datagram(datagram, &mut |payload| {
            seen.push(payload.to_vec());
            Ok(())
        });
        (progress, seen)
    }

    #[test]
    fn a_dump_without_the_multi_flag_goes_on_until_done() {
        let (open, seen) = read(&[reply(16, 0, 7, b"a"), reply(16, 0, 7, b"bcd")].concat());
        assert!(!open.ended);
        assert_eq!(seen, [b"a".to_vec(), b"bcd".to_vec()]);
        let (done, _) = read(&reply(NLMSG_DONE, 0, 7, &[0; 4]));
        assert!(done.ended && done.errno.is_none());
    }

    #[test]
    fn an_error_ends_the_answer_with_its_number() {
        let (progress, seen) = read(&reply(NLMSG_ERROR, 0, 7, &(-libc::ENODEV).to_ne_bytes()));
        assert_eq!((progress.ended, progress.errno, seen.len()), (true, Some(libc::ENODEV), 0));
    }

    #[test]
    fn answers_to_earlier_requests_are_skipped() {
        let (progress, seen) = read(&[reply(16, 0, 6, b"old"), reply(NLMSG_DONE, 0, 6, &[0; 4])].concat());
        assert!(!progress.ended && seen.is_empty());
    }

    #[test]
    fn an_interrupted_dump_is_noticed_at_any_message() {
        let (progress, _) =
            read(&[reply(16, NLM_F_DUMP_INTR, 7, b"a"), reply(NLMSG_DONE, 0, 7, &[0; 4])].concat());
        assert!(progress.ended && progress.interrupted);
    }

    #[test]
    fn damaged_lengths_end_the_datagram() {
        let mut bytes = [reply(16, 0, 7, b"good"), reply(16, 0, 7, b"bad!")].concat();
        for length in [0_u32, 3, 15, 200] {
            bytes[20..24].copy_from_slice(&length.to_ne_bytes());
            let (progress, seen) = read(&bytes);
            assert_eq!(seen, [b"good".to_vec()], "length {length}");
            assert!(progress.malformed.is_some(), "length {length}");
        }
    }
}
