//! Traffic control of one interface over netlink: the qdisc at ingress, and a bpf filter on it at a place of
//! our own. One method, one request.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use netlink_packet_core::DecodeError;
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::links::{
    LinksError,
    attributes::{attributes, bytes_of, push, u32_of},
    socket::{Answer, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NetlinkSocket, Request},
};

/// How the filter is shown by `tc filter show`.
pub(super) const FILTER_NAME: &[u8] = b"sluice-tc";
/// `pref` of the filter: before what `tc` puts in by itself (49152), behind who says 1 (Cilium does).
const PRIORITY: u16 = 7;
const HANDLE: u32 = 0x51ce;

/// Size of `struct tcmsg`.
const HEADER_LENGTH: usize = 20;
/// Both `ffff:fff1` by the kernel's name `TC_H_CLSACT`, and its two sides.
const CLSACT: u32 = 0xffff_fff1;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;
const CLSACT_HANDLE: u32 = 0xffff_0000;
const ETH_P_ALL: u16 = 3;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;

const ATTEMPTS: usize = 8;

/// Whether a filter at our place is an error or gives way.
#[derive(Clone, Copy)]
pub(super) enum Existing {
    Refuse,
    Replace,
}

/// A filter at ingress, of whatever kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    priority: u16,
    handle: u32,
    kind: Vec<u8>,
    pub(super) name: Vec<u8>,
    /// Id of a bpf filter's program.
    pub(super) program: Option<u32>,
}

/// A route socket of the calling thread's network namespace.
pub(super) struct TrafficControl {
    route: NetlinkSocket,
    ifindex: u32,
}

impl TrafficControl {
    pub(super) fn open(ifindex: u32) -> Result<Self, LinksError> {
        Ok(Self { route: NetlinkSocket::open(NETLINK_ROUTE, "route netlink")?, ifindex })
    }

    /// `RTM_NEWQDISC`: clsact. `false`: the interface has one, or an ingress qdisc, which serves as well.
    pub(super) fn make_qdisc(&mut self) -> Result<bool, LinksError> {
        let mut payload = self.header(CLSACT_HANDLE, CLSACT, 0);
        push(&mut payload, TCA_KIND, b"clsact\0");
        let made = self.change("RTM_NEWQDISC", libc::RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &payload);
        unless(made, &[libc::EEXIST])
    }

    /// `RTM_DELQDISC`. That there is no clsact qdisc is no error.
    pub(super) fn remove_qdisc(&mut self) -> Result<(), LinksError> {
        let mut payload = self.header(CLSACT_HANDLE, CLSACT, 0);
        push(&mut payload, TCA_KIND, b"clsact\0");
        let removed = self.change("RTM_DELQDISC", libc::RTM_DELQDISC, 0, &payload);
        // ENOENT: none at all; EINVAL: one of another kind; ENODEV: no such interface any more.
        unless(removed, &[libc::ENOENT, libc::EINVAL, libc::ENODEV]).map(drop)
    }

    /// `RTM_NEWTFILTER`: our filter, in direct action.
    pub(super) fn set_filter(
        &mut self,
        program: BorrowedFd<'_>,
        existing: Existing,
    ) -> Result<(), LinksError> {
        let mut payload = self.header(HANDLE, INGRESS, filter_info());
        push(&mut payload, TCA_KIND, b"bpf\0");
        let mut options = Vec::new();
        push(&mut options, TCA_BPF_FD, &program.as_raw_fd().to_ne_bytes());
        push(&mut options, TCA_BPF_NAME, &[FILTER_NAME, &[0]].concat());
        push(&mut options, TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes());
        push(&mut payload, TCA_OPTIONS, &options);
        let change = match existing {
            Existing::Refuse => NLM_F_CREATE | NLM_F_EXCL,
            Existing::Replace => NLM_F_CREATE | NLM_F_REPLACE,
        };
        self.change("RTM_NEWTFILTER", libc::RTM_NEWTFILTER, change, &payload)
    }

    /// `RTM_DELTFILTER`. That it is gone is no error.
    pub(super) fn remove_filter(&mut self) -> Result<(), LinksError> {
        let mut payload = self.header(HANDLE, INGRESS, filter_info());
        push(&mut payload, TCA_KIND, b"bpf\0");
        let removed = self.change("RTM_DELTFILTER", libc::RTM_DELTFILTER, 0, &payload);
        // ENOENT: no such filter; EINVAL: no qdisc; ENODEV: no such interface any more.
        unless(removed, &[libc::ENOENT, libc::EINVAL, libc::ENODEV]).map(drop)
    }

    /// `RTM_GETTFILTER`: what is at ingress.
    pub(super) fn filters(&mut self) -> Result<Vec<Filter>, LinksError> {
        self.filters_at(INGRESS)
    }

    /// Whether nobody has a filter at ingress or egress.
    pub(super) fn is_empty(&mut self) -> Result<bool, LinksError> {
        Ok(self.filters_at(INGRESS)?.is_empty() && self.filters_at(EGRESS)?.is_empty())
    }

    fn filters_at(&mut self, parent: u32) -> Result<Vec<Filter>, LinksError> {
        let payload = self.header(0, parent, 0);
        let (name, message_type) = ("RTM_GETTFILTER", libc::RTM_GETTFILTER);
        let request = Request { name, message_type, dump: true, change: 0, payload: &payload };
        for _ in 0..ATTEMPTS {
            let mut filters = Vec::new();
            let answer = self.route.request(&request, &mut |reply| {
                filters.push(Filter::parse(reply)?);
                Ok(())
            })?;
            if answer == Answer::Complete {
                return Ok(filters);
            }
        }
        Err(LinksError::KeptChanging)
    }

    fn change(
        &mut self,
        name: &'static str,
        message_type: u16,
        change: u16,
        payload: &[u8],
    ) -> Result<(), LinksError> {
        let request = Request { name, message_type, dump: false, change, payload };
        self.route.request(&request, &mut |_| Ok(())).map(drop)
    }

    /// `struct tcmsg`.
    fn header(&self, handle: u32, parent: u32, info: u32) -> Vec<u8> {
        let mut header = vec![0; 4];
        for word in [self.ifindex, handle, parent, info] {
            header.extend_from_slice(&word.to_ne_bytes());
        }
        header
    }
}

impl Filter {
    pub(super) fn is_at_our_place(&self) -> bool {
        (self.priority, self.handle, self.kind.as_slice()) == (PRIORITY, HANDLE, b"bpf")
    }

    fn parse(reply: &[u8]) -> Result<Self, DecodeError> {
        let word = |at: usize| reply.get(at..).and_then(u32_of).unwrap_or_default();
        let priority = u16::try_from(word(16) >> 16).unwrap_or_default();
        let mut filter = Self { priority, handle: word(8), ..Self::default() };
        for attribute in attributes(reply.get(HEADER_LENGTH..).unwrap_or_default()) {
            match attribute? {
                (TCA_KIND, value) => filter.kind = bytes_of(value).to_vec(),
                (TCA_OPTIONS, value) if filter.kind == b"bpf" => filter.options(value)?,
                _ => {}
            }
        }
        Ok(filter)
    }

    fn options(&mut self, options: &[u8]) -> Result<(), DecodeError> {
        for attribute in attributes(options) {
            match attribute? {
                (TCA_BPF_NAME, value) => self.name = bytes_of(value).to_vec(),
                (TCA_BPF_ID, value) => self.program = u32_of(value),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Priority and protocol of our filter, as `tcm_info` has them.
fn filter_info() -> u32 {
    u32::from(PRIORITY) << 16 | u32::from(ETH_P_ALL.to_be())
}

/// `false` for an answer that says with one of these numbers that there was nothing to do.
fn unless(result: Result<(), LinksError>, nothing_to_do: &[i32]) -> Result<bool, LinksError> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.errno().is_some_and(|errno| nothing_to_do.contains(&errno)) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn reply(kind: &[u8], handle: u32, info: u32) -> Vec<u8> {
        let mut reply = vec![0; 4];
        for word in [3, handle, INGRESS, info] {
            reply.extend_from_slice(&u32::to_ne_bytes(word));
        }
        push(&mut reply, TCA_KIND, kind);
        let mut options = Vec::new();
        push(&mut options, TCA_BPF_NAME, b"sluice-tc\0");
        push(&mut options, TCA_BPF_ID, &77_u32.to_ne_bytes());
        push(&mut reply, TCA_OPTIONS, &options);
        reply
    }

    #[test]
    fn a_filter_is_at_our_place_by_priority_handle_and_kind() {
        let ours = Filter::parse(&reply(b"bpf\0", HANDLE, filter_info())).unwrap();
        assert!(ours.is_at_our_place());
        assert_eq!((ours.name.as_slice(), ours.program), (FILTER_NAME, Some(77)));
        for other in [
            reply(b"u32\0", HANDLE, filter_info()),
            reply(b"bpf\0", 1, filter_info()),
            reply(b"bpf\0", HANDLE, filter_info() + (1 << 16)),
        ] {
            assert!(!Filter::parse(&other).unwrap().is_at_our_place());
        }
    }

    #[test]
    fn another_kinds_options_are_not_read_as_a_bpf_filters() {
        assert_eq!(Filter::parse(&reply(b"u32\0", 1, 0)).unwrap().program, None);
        assert_eq!(Filter::parse(&[]).unwrap(), Filter::default());
    }
}
