//! Addresses and prefixes as text: one reading of each text, or none. What other programs read in
//! different ways is refused, and nothing is masked or converted without a word.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};

/// Why a text is no prefix that may be used as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixError {
    /// It is no address and no prefix, or one that others would read differently.
    InvalidAddress,
    /// Bits behind the prefix length are set. IPv4 in IPv6 clothes is given here as IPv4.
    HostBitsSet {
        /// The network that holds the address.
        network: IpNet,
        /// The address alone.
        host: IpNet,
    },
    /// An IPv4 prefix in IPv6 clothes (`::ffff:0:0/96`): it would match no packet, since the packets are IPv4.
    MappedV4 {
        /// The same prefix as IPv4.
        as_v4: Ipv4Net,
    },
}

impl PrefixError {
    /// The name, as status and conditions show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidAddress => "InvalidAddress",
            Self::HostBitsSet { .. } => "HostBitsSet",
            Self::MappedV4 { .. } => "MappedV4",
        }
    }
}

impl fmt::Display for PrefixError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidAddress => formatter.write_str("it is no address and no prefix"),
            Self::HostBitsSet { network, .. } => {
                write!(formatter, "it has bits set behind the first {}", network.prefix_len())
            }
            Self::MappedV4 { as_v4 } => write!(formatter, "it is the IPv4 prefix {as_v4} written as IPv6"),
        }
    }
}

impl std::error::Error for PrefixError {}

/// Reads an address, or a prefix without host bits. An address stands for itself alone.
///
/// # Errors
/// If the text is neither, or needs a correction that only its author can make.
pub fn parse(text: &str) -> Result<IpNet, PrefixError> {
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().map_err(|_| PrefixError::InvalidAddress)?;
    let prefix = match length {
        None => IpNet::from(address),
        Some(length) => prefix_length(length)
            .and_then(|length| IpNet::new(address, length).ok())
            .ok_or(PrefixError::InvalidAddress)?,
    };
    let as_v4 = unmapped(prefix);
    let seen = as_v4.map_or(prefix, IpNet::V4);
    let network = seen.trunc();
    match as_v4 {
        _ if network != seen => Err(PrefixError::HostBitsSet { network, host: IpNet::from(seen.addr()) }),
        Some(as_v4) => Err(PrefixError::MappedV4 { as_v4 }),
        None => Ok(prefix),
    }
}

/// Decimal digits without leading zeros: some read `/024` as 20.
fn prefix_length(text: &str) -> Option<u8> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

/// The IPv4 prefix that an IPv6 prefix inside `::ffff:0:0/96` stands for, host bits and all.
fn unmapped(prefix: IpNet) -> Option<Ipv4Net> {
    const MAPPED_BITS: u8 = 96;
    let IpNet::V6(prefix) = prefix else { return None };
    let address = Ipv6Addr::to_ipv4_mapped(&prefix.addr())?;
    Ipv4Net::new(address, prefix.prefix_len().checked_sub(MAPPED_BITS)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{PrefixError, parse};

    fn host_bits(network: &str, host: &str) -> PrefixError {
        PrefixError::HostBitsSet { network: network.parse().unwrap(), host: host.parse().unwrap() }
    }

    fn mapped(as_v4: &str) -> PrefixError {
        PrefixError::MappedV4 { as_v4: as_v4.parse().unwrap() }
    }

    #[test]
    fn prefixes_and_addresses_have_one_reading() {
        for (text, read) in [
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("203.0.113.7", "203.0.113.7/32"),
            ("::/0", "::/0"),
            ("2001:DB8::/32", "2001:db8::/32"),
            ("2001:0db8:0::1", "2001:db8::1/128"),
            ("::192.0.2.1", "::c000:201/128"),
            ("::/96", "::/96"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), read, "{text}");
        }
    }

    #[test]
    fn what_readers_disagree_about_is_no_address() {
        for text in [
            "",
            "/",
            "/24",
            "192.0.2.0/",
            "192.0.2.0/33",
            "2001:db8::/129",
            "192.0.2.0/+8",
            "192.0.2.0/-1",
            " 192.0.2.1",
            "192.0.2.1 ",
            "192.0.2.0 /24",
            "192.0.2.0/24/8",
            "192.0.2.0/255.255.255.0",
            "010.0.0.1/32",
            "192.0.2.010",
            "192.0.02.0/24",
            "0x0a000001",
            "167772161",
            "10.1",
            "192.0.2.0/024",
            "::ffff:192.0.2.010",
            "2001:db8::/032",
            "fe80::1%eth0",
            "[::1]",
            "192.0.2.1:80",
            "example.org",
            "１92.0.2.1",
        ] {
            assert_eq!(parse(text), Err(PrefixError::InvalidAddress), "{text:?}");
        }
    }

    #[test]
    fn host_bits_are_told_with_both_ways_out() {
        for (text, network, host) in [
            ("192.0.2.1/24", "192.0.2.0/24", "192.0.2.1/32"),
            ("10.1.2.3/8", "10.0.0.0/8", "10.1.2.3/32"),
            ("0.0.0.1/0", "0.0.0.0/0", "0.0.0.1/32"),
            ("2001:db8::1/32", "2001:db8::/32", "2001:db8::1/128"),
            ("::ffff:192.0.2.1/120", "192.0.2.0/24", "192.0.2.1/32"),
            ("::ffff:192.0.2.1/64", "::/64", "::ffff:192.0.2.1/128"),
        ] {
            assert_eq!(parse(text), Err(host_bits(network, host)), "{text}");
        }
    }

    #[test]
    fn mapped_forms_are_told_with_the_ipv4_form() {
        for (text, as_v4) in [
            ("::ffff:192.0.2.1", "192.0.2.1/32"),
            ("::ffff:c000:201/128", "192.0.2.1/32"),
            ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
        ] {
            assert_eq!(parse(text), Err(mapped(as_v4)), "{text}");
        }
    }
}
