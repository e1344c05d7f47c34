//! Which files of a directory hold policies and address sets, by their names alone. Nothing here looks at a file.

use std::{ffi::OsStr, path::Path};

use crate::{MAX_FILE_BYTES, cidr_set::MAX_FEED_BYTES};

/// Whether a file of this name in a directory of policies is read as documents: `*.yaml`, `*.yml` or `*.json`, and
/// not hidden. Names that begin with two dots are how a whole directory is exchanged at once.
#[must_use]
pub fn is_policy_file(name: &OsStr) -> bool {
    !is_hidden(name) && matches!(extension(name), Some(b"yaml" | b"yml" | b"json"))
}

/// Whether a file of this name in a directory of policies is read as a list of addresses: `*.cidrs`, and not
/// hidden.
#[must_use]
pub fn is_set_file(name: &OsStr) -> bool {
    !is_hidden(name) && extension(name) == Some(b"cidrs")
}

/// The largest size in bytes of a file of this name that is read.
#[must_use]
pub fn max_file_bytes(name: &OsStr) -> usize {
    if is_set_file(name) { MAX_FEED_BYTES } else { MAX_FILE_BYTES }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn extension(name: &OsStr) -> Option<&[u8]> {
    Path::new(name).extension().map(OsStr::as_encoded_bytes)
}

#[cfg(test)]
mod tests {
    use super::{is_policy_file, is_set_file};

    #[test]
    fn lists_end_in_cidrs_and_are_not_hidden() {
        for name in ["a.cidrs", "drop-list.cidrs", "a.yaml.cidrs"] {
            assert!(is_set_file(name.as_ref()) && !is_policy_file(name.as_ref()), "{name}");
        }
        for name in
            ["cidrs", "a.CIDRS", "a.cidrs~", "a.txt", ".cidrs", ".a.cidrs", "..a.cidrs", "a.cidrs.new"]
        {
            assert!(!is_set_file(name.as_ref()), "{name}");
        }
    }

    #[test]
    fn policies_end_in_yaml_yml_or_json_and_are_not_hidden() {
        for name in ["a.yaml", "a.yml", "a.json", "a.b.yaml", "-.yaml"] {
            assert!(is_policy_file(name.as_ref()), "{name}");
        }
        for name in ["yaml", "a.YAML", "a.yaml~", "a.yaml.new", ".yaml", ".a.yaml", "..data", "..a.yaml", ""]
        {
            assert!(!is_policy_file(name.as_ref()), "{name}");
        }
    }
}
