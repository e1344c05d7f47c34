//! Which files of a directory hold policies, by their names alone. Nothing here looks at a file.

use std::{ffi::OsStr, path::Path};

/// Whether a file of this name in a directory of policies is read: `*.yaml`, `*.yml` or `*.json`, and
/// not hidden. Names that begin with two dots are how a whole directory is exchanged at once.
#[must_use]
pub fn is_policy_file(name: &OsStr) -> bool {
    let is_hidden = name.as_encoded_bytes().starts_with(b".");
    let extension = Path::new(name).extension().map(OsStr::as_encoded_bytes);
    !is_hidden && matches!(extension, Some(b"yaml" | b"yml" | b"json"))
}

#[cfg(test)]
mod tests {
    use super::is_policy_file;

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
