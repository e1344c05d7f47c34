//! One line of a feed: what it is, without knowing what a prefix is.

use std::borrow::Cow;

use serde::Deserialize;

use crate::cidr_set::EntryReason;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How much is looked at to tell text from other data.
const LOOKED_AT: usize = 4096;

/// What a line is.
pub enum Line<'a> {
    /// Blank, or a comment.
    Nothing,
    /// A text that should be a prefix.
    Entry(&'a str),
    /// The same, out of an object.
    Record(Cow<'a, str>),
    /// An object that tells about the list.
    Metadata { records: Option<u64> },
    /// The last line, which is not whole.
    CutOff,
    /// Nothing that this reader knows.
    Bad { text: Cow<'a, str>, reason: EntryReason, message: &'static str },
}

/// The bytes of a line.
pub struct Text<'a> {
    bytes: &'a [u8],
    /// The feed ends here, without an end of the line.
    is_open: bool,
}

/// Says why the bytes cannot be lines of text.
pub fn check_text(bytes: &[u8]) -> Result<(), &'static str> {
    match bytes {
        [0x1f, 0x8b, ..] => Err("it is compressed with gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err("it is compressed with zstd"),
        [b'P', b'K', 3, 4, ..] => Err("it is a zip archive"),
        _ if bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0) => Err("it holds zero bytes"),
        _ => Ok(()),
    }
}

/// The lines; an end of the last line begins no other one.
pub fn of(bytes: &[u8]) -> impl Iterator<Item = Text<'_>> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| match line.strip_suffix(b"\n") {
        Some(bytes) => Text { bytes, is_open: false },
        None => Text { bytes: line, is_open: true },
    })
}

impl<'a> Text<'a> {
    pub fn read(&self) -> Line<'a> {
        let bytes = self.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(self.bytes).trim_ascii();
        if bytes.starts_with(b"{") {
            return self.record(bytes);
        }
        let content = without_comment(bytes).trim_ascii();
        if content.is_empty() {
            return Line::Nothing;
        }
        let bad = |text, message| Line::Bad { text, reason: EntryReason::InvalidAddress, message };
        match std::str::from_utf8(content) {
            Ok(text) if text.contains(char::is_whitespace) => bad(
                Cow::Borrowed(text),
                "there is more than one word; write one prefix or address a line, and #, ; or // before a remark",
            ),
            Ok(text) => Line::Entry(text),
            Err(_) => bad(String::from_utf8_lossy(content), "it is not UTF-8 text"),
        }
    }

    fn record(&self, bytes: &'a [u8]) -> Line<'a> {
        let bad = |message| Line::Bad {
            text: String::from_utf8_lossy(bytes),
            reason: EntryReason::InvalidRecord,
            message,
        };
        match serde_json::from_slice::<Record<'a>>(bytes) {
            Ok(Record { cidr: Some(cidr), .. }) => Line::Record(cidr),
            Ok(record) if record.is_metadata() => Line::Metadata { records: record.records },
            Ok(_) => bad("the object has no cidr"),
            Err(error) if error.is_eof() && self.is_open => Line::CutOff,
            Err(_) => bad("it is no JSON object with a text named cidr"),
        }
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    cidr: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    records: Option<u64>,
}

impl Record<'_> {
    fn is_metadata(&self) -> bool {
        self.kind.as_deref() == Some("metadata") || self.records.is_some()
    }
}

/// A prefix holds one `/`; two of them begin a comment.
fn without_comment(bytes: &[u8]) -> &[u8] {
    let is_comment = |at: usize, byte: u8| match byte {
        b'#' | b';' => true,
        b'/' => bytes.get(at + 1) == Some(&b'/'),
        _ => false,
    };
    let end = bytes.iter().enumerate().position(|(at, byte)| is_comment(at, *byte));
    end.map_or(bytes, |end| &bytes[..end])
}
