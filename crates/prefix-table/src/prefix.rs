//! A prefix of either family as a number: what all of this crate computes with.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    pub const BOTH: [Self; 2] = [Self::V4, Self::V6];

    pub fn of(prefix: &IpNet) -> Self {
        match prefix {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }
}

/// In order: by first address, an outer prefix before those that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Prefix {
    /// The first address, its first bit in the highest bit for both families. Bits behind `length` are 0.
    pub key: u128,
    pub length: u8,
}

impl Prefix {
    pub fn new(prefix: &IpNet) -> Self {
        Self { key: key(prefix.addr()), length: prefix.prefix_len() }.shortened(prefix.prefix_len())
    }

    /// As others know it.
    pub fn network(self, family: Family) -> IpNet {
        let (key, length) = (self.key, self.length);
        match family {
            Family::V4 => {
                let bits = u32::try_from(key >> 96).unwrap_or(0);
                Ipv4Net::new_assert(Ipv4Addr::from_bits(bits), length.min(32)).into()
            }
            Family::V6 => Ipv6Net::new_assert(Ipv6Addr::from_bits(key), length.min(128)).into(),
        }
    }

    pub fn shortened(self, length: u8) -> Self {
        Self { key: self.key & !below(length), length }
    }

    /// The prefix that `octet` as the next 8 bits leads to.
    pub fn child(self, octet: u8) -> Self {
        let length = self.length + 8;
        Self { key: self.key | u128::from(octet) << (128 - u32::from(length)), length }
    }

    /// The `width` bits of the first address from bit `start` on. At most 16.
    pub fn index(self, start: u8, width: u8) -> usize {
        let shift = 128 - u32::from(start) - u32::from(width);
        let bits = (self.key >> shift) & ((1 << width) - 1);
        usize::from(u16::try_from(bits).unwrap_or(u16::MAX))
    }

    pub fn contains(self, other: Self) -> bool {
        self.length <= other.length && (self.key ^ other.key) & !below(self.length) == 0
    }
}

/// The address with its first bit in the highest bit.
pub(crate) fn key(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The bits behind the first `length`.
fn below(length: u8) -> u128 {
    u128::MAX.checked_shr(u32::from(length)).unwrap_or(0)
}
