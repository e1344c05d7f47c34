//! Reading netlink attributes of fixed and variable size from bytes.
//!
//! An attribute of an unexpected size is left out, never an error: kernels only ever add to what they send.

use netlink_packet_core::{DecodeError, NLA_HEADER_SIZE, NlaBuffer, NlasIterator};

/// One attribute: its type without flag bits, and its value.
pub(crate) type Attribute<'a> = (u16, &'a [u8]);

/// Splits `bytes` into attributes.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = Result<Attribute<'_>, DecodeError>> {
    NlasIterator::new(bytes).map(|attribute| {
        let attribute: NlaBuffer<&[u8]> = attribute?;
        let (kind, length) = (attribute.kind(), usize::from(attribute.length()));
        Ok((kind, attribute.into_inner().get(NLA_HEADER_SIZE..length).unwrap_or_default()))
    })
}

pub(crate) fn u8_of(value: &[u8]) -> Option<u8> {
    value.first().copied()
}

pub(crate) fn u16_of(value: &[u8]) -> Option<u16> {
    value.first_chunk().copied().map(u16::from_ne_bytes)
}

pub(crate) fn u32_of(value: &[u8]) -> Option<u32> {
    value.first_chunk().copied().map(u32::from_ne_bytes)
}

pub(crate) fn u64_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().copied().map(u64::from_ne_bytes)
}

/// The bytes before the first NUL.
pub(crate) fn bytes_of(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Text for people and for matching. The kernel allows nearly any byte in an interface name.
pub(crate) fn text_of(value: &[u8]) -> String {
    let bytes = bytes_of(value);
    str::from_utf8(bytes).map_or_else(|_| bytes.escape_ascii().to_string(), str::to_owned)
}

/// Appends one attribute with its padding.
pub(crate) fn push(buffer: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
    buffer.extend_from_slice(&length.to_ne_bytes());
    buffer.extend_from_slice(&kind.to_ne_bytes());
    buffer.extend_from_slice(value);
    buffer.resize(buffer.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;

    #[test]
    fn a_name_of_odd_bytes_becomes_an_escape() {
        assert_eq!(text_of(b"eth0\0"), "eth0");
        assert_eq!(text_of("käse".as_bytes()), "käse");
        assert_eq!(text_of(b"e\xff\x01\0"), r"e\xff\x01");
        assert_eq!(text_of(b""), "");
    }

    #[test]
    fn short_values_are_left_out_and_long_ones_cut() {
        assert_eq!(u32_of(&[1, 0]), None);
        assert_eq!(u32_of(&[7, 7, 7, 7, 9]), Some(0x0707_0707));
        assert_eq!(u64_of(&[]), None);
    }

    #[test]
    fn what_is_pushed_comes_back() {
        let mut buffer = Vec::new();
        push(&mut buffer, 3, b"abcde");
        push(&mut buffer, 4, &7_u32.to_ne_bytes());
        let read: Vec<_> = attributes(&buffer).collect::<Result<_, _>>().expect("well formed");
        assert_eq!(read, [(3, &b"abcde"[..]), (4, &7_u32.to_ne_bytes()[..])]);
    }

    #[test]
    fn a_cut_attribute_is_an_error() {
        let mut buffer = Vec::new();
        push(&mut buffer, 3, b"abcd");
        assert!(attributes(&buffer[..6]).any(|attribute| attribute.is_err()));
    }
}
