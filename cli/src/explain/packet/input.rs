//! A packet as the command line names it: the hexadecimal digits of a frame, or a short description.

use sluice_policy::reference::{Packet, dissect};

use super::description;

/// What an error ends with.
const EXAMPLES: &str = "Write it as \"udp 192.0.2.1:4000 > 198.51.100.20:9\", \
    as \"tcp [2001:db8::1]:1 > [2001:db8::2]:22 syn vlan 5\", as \"icmp 192.0.2.1 > 198.51.100.20 type 8\", \
    or as the hexadecimal digits of a whole Ethernet frame";

/// Reads either form.
pub fn parse(text: &str) -> Result<Packet, String> {
    let understood = match hexadecimal(text) {
        Some(digits) => frame(&digits),
        None => description::parse(text),
    };
    understood.map_err(|what| format!("{what}. {EXAMPLES}"))
}

/// The digits, if nothing but digits and what people put between them is there.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let between = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b':' | b'-');
    let digits: Vec<u8> = text.bytes().filter(|byte| !between(byte)).collect();
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)).then_some(digits)
}

fn frame(digits: &[u8]) -> Result<Packet, String> {
    if !digits.len().is_multiple_of(2) {
        return Err(format!("the frame has {} hexadecimal digits, an odd number", digits.len()));
    }
    let value = |digit: u8| (digit as char).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let bytes = digits.as_chunks::<2>().0.iter().map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?));
    let bytes: Vec<u8> = bytes.collect::<Option<_>>().ok_or("the frame has other than hexadecimal digits")?;
    Ok(dissect(&bytes))
}
