//! Interface names and patterns. The pattern signs are `*`, `?` and a set of characters such as
//! `[0-9]`; everything else stands for itself.

use std::fmt;

/// Longest name that the kernel gives a device, in bytes (`IFNAMSIZ` less the final zero).
const MAX_NAME_BYTES: usize = 15;
/// Longest alternative name, in bytes (`ALTIFNAMSIZ` less the final zero).
const MAX_ALTERNATIVE_NAME_BYTES: usize = 127;

/// A name, or a pattern for names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(char),
    AnyOne,
    AnyNumber,
    OneOf(Vec<(char, char)>),
}

/// Why a text is no name and no pattern: what is wrong, and the fix.
pub(crate) type Complaint = (String, String);

impl NamePattern {
    pub(crate) fn parse(text: &str) -> Result<Self, Complaint> {
        refuse_whole(text)?;
        let mut characters = text.chars();
        let mut parts = Vec::new();
        while let Some(character) = characters.next() {
            parts.push(match character {
                '*' => Part::AnyNumber,
                '?' => Part::AnyOne,
                '[' => Part::OneOf(parse_set(&mut characters)?),
                other => Part::Literal(allowed(other, text)?),
            });
        }
        let pattern = Self { text: text.to_owned(), parts };
        pattern.refuse_length()?;
        Ok(pattern)
    }

    /// Whether the text has no pattern sign, and so names one device.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// Whether the whole of `name` fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        // `reached[i]`: the first i parts can match the characters so far.
        let mut reached = vec![false; self.parts.len() + 1];
        reached[0] = true;
        self.skip_empty(&mut reached);
        for character in name.chars() {
            let mut next = vec![false; reached.len()];
            for (index, part) in self.parts.iter().enumerate().filter(|(index, _)| reached[*index]) {
                match part {
                    Part::AnyNumber => next[index] = true,
                    other => next[index + 1] |= other.fits(character),
                }
            }
            self.skip_empty(&mut next);
            reached = next;
        }
        reached[self.parts.len()]
    }

    /// A `*` may stand for nothing.
    fn skip_empty(&self, reached: &mut [bool]) {
        for (index, part) in self.parts.iter().enumerate() {
            if reached[index] && *part == Part::AnyNumber {
                reached[index + 1] = true;
            }
        }
    }

    fn refuse_length(&self) -> Result<(), Complaint> {
        let open = self.parts.contains(&Part::AnyNumber);
        let limit = if open { MAX_ALTERNATIVE_NAME_BYTES } else { MAX_NAME_BYTES };
        let shortest: usize = self.parts.iter().map(Part::shortest_bytes).sum();
        if shortest <= limit {
            return Ok(());
        }
        let fix = if open {
            "Shorten it".to_owned()
        } else {
            format!(
                "Write the device's own name or an alternative name of at most {limit} bytes; a longer alternative \
                 name of a physical NIC or bond is matched by its beginning and *, one of another device by nothing"
            )
        };
        complaint(
            format!("it can only match names of {shortest} bytes or more, and names have at most {limit}"),
            fix,
        )
    }
}

impl Part {
    fn fits(&self, character: char) -> bool {
        match self {
            Self::Literal(literal) => *literal == character,
            Self::AnyOne | Self::AnyNumber => true,
            Self::OneOf(ranges) => ranges.iter().any(|(first, last)| (first..=last).contains(&&character)),
        }
    }

    fn shortest_bytes(&self) -> usize {
        match self {
            Self::Literal(literal) => literal.len_utf8(),
            Self::AnyOne | Self::OneOf(_) => 1,
            Self::AnyNumber => 0,
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn complaint<T>(what: impl Into<String>, fix: impl Into<String>) -> Result<T, Complaint> {
    Err((what.into(), fix.into()))
}

fn refuse_whole(text: &str) -> Result<(), Complaint> {
    match text {
        "" => complaint("it is empty", "Write the name of an interface, or a pattern such as eth*"),
        "." | ".." => complaint("the kernel allows no device of this name", "Write the name of an interface"),
        _ if text.len() > 1 && text.starts_with('/') && text.ends_with('/') => {
            complaint("regular expressions are not supported", "Use *, ? and [0-9]")
        }
        _ => Ok(()),
    }
}

/// Characters that the kernel refuses in names, and those that other tools read as pattern signs:
/// taken for themselves, the latter would match nothing, and nobody would be told.
fn allowed(character: char, text: &str) -> Result<char, Complaint> {
    match character {
        '/' => complaint("a device name has no /", "Write the name alone, without a path"),
        ':' => complaint("aliases are not devices", format!("Write {}", before(text, ':'))),
        '+' => complaint("+ is no pattern sign", format!("Write {}*", before(text, '+'))),
        '{' | '}' => {
            complaint("braces are no pattern signs", "List the names one by one, or use *, ? and [0-9]")
        }
        ',' => complaint("one entry holds one name", "Write the names as separate entries of the list"),
        '^' | '$' | '(' | ')' | '|' | '\\' | '!' | ']' => {
            complaint(format!("{character} is no pattern sign"), "Use *, ? and [0-9]")
        }
        _ if character.is_whitespace() || character.is_control() => {
            complaint("it contains white space or a control character", "Remove it")
        }
        _ => Ok(character),
    }
}

fn before(text: &str, sign: char) -> &str {
    text.split(sign).next().filter(|name| !name.is_empty()).unwrap_or("eth0")
}

/// Reads what follows a `[`, up to the `]`.
fn parse_set(characters: &mut std::str::Chars<'_>) -> Result<Vec<(char, char)>, Complaint> {
    let fix = "Write a set such as [0-9] or [13]";
    let Some((inside, _)) = characters.as_str().split_once(']') else {
        return complaint("the [ is not closed by a ]", fix);
    };
    characters.nth(inside.chars().count());
    if inside.is_empty() {
        return complaint("the set [] is empty", fix);
    }
    let mut ranges = Vec::new();
    let mut rest = inside.chars().peekable();
    while let Some(first) = rest.next() {
        let last = if rest.next_if_eq(&'-').is_some() { rest.next() } else { Some(first) };
        match last {
            Some(last) if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() && first <= last => {
                ranges.push((first, last));
            }
            _ => {
                return complaint(
                    format!("the set [{inside}] is not one of letters or digits in order"),
                    fix,
                );
            }
        }
    }
    Ok(ranges)
}
