//! What is wrong with a policy or an address set, in words that a user can act on. It never says what is only unusual:
//! that is a warning of a plan.

use std::fmt;

use serde::{Serialize, Serializer};

/// One thing that is wrong with a file or a document in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The file, as the caller named it.
    pub file: String,
    /// `metadata.name` of the document, if it has one.
    pub policy: Option<String>,
    /// Path of the field, such as `spec.rules[0].match.protocol`; empty for the document as a whole.
    pub field: String,
    /// The kind of problem.
    pub reason: Reason,
    /// What is wrong.
    pub message: String,
    /// What to do about it, as a sentence.
    pub fix: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.file)?;
        if !self.field.is_empty() {
            write!(formatter, "{}: ", self.field)?;
        }
        write!(formatter, "{}. {}", self.message, self.fix)
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl Reason {
            /// The name, as status and conditions show it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

reasons! {
    /// The file holds no document.
    EmptyFile,
    /// The file is larger than the limit.
    FileTooLarge,
    /// The file is no regular file, or the system refuses to read it.
    Unreadable,
    /// The file is not UTF-8 text.
    NotUtf8,
    /// The file is not YAML, or not YAML that is safe to read.
    NotYaml,
    /// A feed is compressed, or no text at all.
    NotText,
    /// A feed ends too early.
    TruncatedFeed,
    /// A feed has no entry.
    EmptyFeed,
    /// A feed has more bad lines than good ones.
    MostlyRejected,
    /// A rule names an address set that there is not.
    CidrSetNotFound,
    /// Entries of a strict set are bad.
    EntriesRejected,
    /// `apiVersion` or `kind` are not those of an `XdpPolicy`.
    WrongKind,
    /// A field that must be there is not.
    MissingField,
    /// A field that does not exist.
    UnknownField,
    /// A field or value that this release cannot carry out.
    NotImplemented,
    /// A value of the wrong type.
    WrongType,
    /// A value of the right type that is none of those allowed.
    InvalidValue,
    /// A list without elements.
    EmptyList,
    /// A list with too many elements.
    ListTooLong,
    /// A name that Kubernetes or the counters cannot carry.
    InvalidName,
    /// A name that is there twice.
    DuplicateName,
    /// An interface name or pattern that cannot match.
    InvalidPattern,
    /// A PCI address that is none.
    InvalidPciAddress,
    /// A selector without a condition.
    EmptySelector,
    /// A label selector that no label can satisfy.
    InvalidSelector,
    /// A protocol that is none.
    InvalidProtocol,
    /// A port or a range of ports that is none.
    InvalidPort,
    /// Ports where the protocol is missing or has none.
    PortsNeedProtocol,
    /// TCP flags where the protocol is missing or is not TCP.
    FlagsNeedProtocol,
    /// A TCP flag that must be both set and unset.
    FlagSetAndUnset,
    /// An ICMP type where the protocol is missing or is another.
    IcmpNeedsProtocol,
    /// An address or prefix that is none, or that others would read differently.
    InvalidAddress,
    /// A prefix with bits set behind its length.
    HostBitsSet,
    /// An IPv4 prefix written as IPv6.
    MappedV4,
    /// IPv4 and IPv6 where only one of them can be.
    FamilyMismatch,
    /// A length of packets, or a range of them, that is none.
    InvalidLength,
    /// A match that asks for nothing.
    EmptyMatch,
    /// A rule that drops, without saying what.
    MatchRequired,
    /// Fields of which only one may be given.
    MutuallyExclusive,
    /// Settings that have no meaning here, such as those of another type of action.
    WrongSettings,
    /// A traffic class that is none.
    InvalidClass,
    /// A list of CPUs that is none.
    InvalidCpuList,
    /// A service that is not built in.
    UnknownService,
    /// There are more problems than are listed.
    TooManyProblems,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A problem before it is known which document it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub field: String,
    pub reason: Reason,
    pub message: String,
    pub fix: String,
}

impl Finding {
    pub fn new(
        field: impl Into<String>,
        reason: Reason,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let mut fix: String = fix.into();
        if !fix.ends_with(['.', '?', '!']) {
            fix.push('.');
        }
        Self { field: field.into(), reason, message: message.into(), fix }
    }

    /// The name of a set stands in the message: a problem has a place for that of a policy only.
    pub fn into_problem_of_set(mut self, file: &str, set: Option<&str>) -> Problem {
        if let Some(set) = set {
            self.message = format!("in set {}: {}", quote(set), self.message);
        }
        self.into_problem(file, None)
    }

    pub fn into_problem(self, file: &str, policy: Option<&str>) -> Problem {
        let Self { field, reason, message, fix } = self;
        Problem { file: file.to_owned(), policy: policy.map(str::to_owned), field, reason, message, fix }
    }
}

/// Findings of one document. A hostile file can be wrong in a hundred thousand places: beyond a
/// number that nobody reads, they are not kept.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    const MOST: usize = 1000;

    pub fn push(&mut self, finding: Finding) {
        if self.list.len() < Self::MOST {
            self.list.push(finding);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.list.iter()
    }

    /// The value, if there is one; else its finding is added.
    pub fn keep<T>(&mut self, result: Result<T, Finding>) -> Option<T> {
        result.map_err(|finding| self.push(finding)).ok()
    }

    /// Whether something at `path` or below it was refused, so that what is left says less than the user did.
    pub fn is_touched(&self, path: &str) -> bool {
        self.iter().any(|finding| finding.field.strip_prefix(path).is_some_and(begins_below))
    }

    /// Whether `field` of the object at `path` may have been there: it was refused, or an unknown field was,
    /// which may be this one misspelt.
    pub fn has_lost(&self, path: &str, field: &str) -> bool {
        self.iter().any(|finding| match finding.field.strip_prefix(path) {
            Some(below) if finding.reason == Reason::UnknownField => {
                below.starts_with('[') || below.rfind('.') == Some(0)
            }
            Some(below) => below.strip_prefix('.') == Some(field),
            None => false,
        })
    }

    pub fn into_list(self) -> Vec<Finding> {
        self.list
    }
}

/// Whether the rest of a path leads to the place itself or into it.
fn begins_below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

/// Longest piece of a user's value that a message repeats.
const QUOTE_CHARACTERS: usize = 80;

/// A user's value as a message repeats it: control characters escaped, long values cut.
pub(crate) fn quote(value: &str) -> String {
    let mut characters = value.chars();
    let start: String = characters.by_ref().take(QUOTE_CHARACTERS).collect();
    if characters.next().is_some() { format!("{start:?}...") } else { format!("{start:?}") }
}
