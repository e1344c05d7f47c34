//! Why a frame could not be parsed to its end.

/// Number of slots that counters by [`Malformed`] have; code 0 means "not malformed".
pub const MALFORMED_REASONS: usize = 32;

macro_rules! malformed {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// Where the damage of a frame lies. Fields behind it are unknown, and unknown never matches.
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Malformed {
            $($(#[$doc])* $name = $code,)*
        }

        impl Malformed {
            /// Every reason, in the order of its code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The reason's name, as status and metrics show it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

malformed! {
    /// Shorter than an Ethernet header.
    FrameTooShort = 1,
    /// A VLAN tag runs past the end of the frame.
    VlanTruncated = 2,
    /// More than two VLAN tags: the host may still deliver it, we do not parse it.
    VlanDepth = 3,
    /// Less than 20 bytes of IPv4 header.
    Ipv4Truncated = 4,
    /// EtherType IPv4, but the version field is not 4.
    Ipv4BadVersion = 5,
    /// An IPv4 header length below 20 bytes.
    Ipv4HeaderLength = 6,
    /// The IPv4 options run past the end of the frame.
    Ipv4OptionsTruncated = 7,
    /// The IPv4 total length is below the header length or runs past the end of the frame.
    Ipv4TotalLength = 8,
    /// Less than 40 bytes of IPv6 header.
    Ipv6Truncated = 9,
    /// EtherType IPv6, but the version field is not 6.
    Ipv6BadVersion = 10,
    /// The IPv6 payload runs past the end of the frame.
    Ipv6PayloadLength = 11,
    /// An extension header runs past the end of the payload.
    Ipv6ExtensionTruncated = 12,
    /// More than eight extension headers: the host may still deliver it, we do not parse it.
    Ipv6ExtensionDepth = 13,
    /// The transport header runs past the end of the packet.
    L4Truncated = 14,
    /// A UDP length below 8 or, outside fragments, longer than the packet.
    UdpLength = 15,
    /// A TCP data offset below 20 bytes or past the end of the packet.
    TcpDataOffset = 16,
}

const _: () = assert!(Malformed::ALL.len() < MALFORMED_REASONS);
