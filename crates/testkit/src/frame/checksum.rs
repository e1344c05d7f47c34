//! The checksums of the Internet protocols and of SCTP. Plain and slow.

use super::layer::Layer;

/// The ones' complement sum over all the parts, each of even length except the last.
pub(super) fn internet(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 =
        words.map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

/// A transport checksum: with the pseudo header of the network layer around it.
pub(super) fn transport(network: Option<&Layer>, protocol: u8, segment: &[u8]) -> u16 {
    let length = u32::try_from(segment.len()).unwrap_or(u32::MAX).to_be_bytes();
    let pseudo = match network {
        Some(Layer::Ipv4 { source, destination, .. }) => {
            [&source.octets()[..], &destination.octets(), &[0, protocol], &length[2..]].concat()
        }
        Some(Layer::Ipv6 { source, destination }) => {
            [&source.octets()[..], &destination.octets(), &length, &[0, 0, 0, protocol]].concat()
        }
        _ => Vec::new(),
    };
    internet(&[&pseudo, segment])
}

/// `CRC32c`, as SCTP has it.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 })
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::{crc32c, internet};

    #[test]
    fn known_answers() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        // The example of RFC 1071.
        assert_eq!(internet(&[&[0x00, 0x01, 0xf2, 0x03], &[0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
        assert_eq!(internet(&[&[0xff, 0xff, 0x01]]), !0x0100);
    }
}
