//! Names of [`PolicyState`]s and [`AddressSetState`]s, as people and scripts read them.

use serde::Serializer;

use crate::v1alpha1::{AddressSetState, PolicyState};

impl PolicyState {
    /// The state's name: one CamelCase word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "Unknown",
            Self::InForce => "InForce",
            Self::LastGood => "LastGood",
            Self::Refused => "Refused",
            Self::NoMatchingInterface => "NoMatchingInterface",
            Self::Conflict => "Conflict",
            Self::NotProgrammed => "NotProgrammed",
        }
    }
}

impl AddressSetState {
    /// The state's name: one CamelCase word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "Unknown",
            Self::Loaded => "Loaded",
            Self::Unused => "Unused",
            Self::Gone => "Gone",
            Self::LastGood => "LastGood",
            Self::Refused => "Refused",
            Self::NotLoaded => "NotLoaded",
        }
    }
}

/// Writes the name instead of the number. A number that a newer agent made up is `Unknown`.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
pub fn serialize<S: Serializer>(state: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(PolicyState::try_from(*state).unwrap_or_default().name())
}

/// The same of a set.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
pub fn serialize_set<S: Serializer>(state: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(AddressSetState::try_from(*state).unwrap_or_default().name())
}
