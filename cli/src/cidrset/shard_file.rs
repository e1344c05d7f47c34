//! One set of a list as a file: what it is called, how it is written, and whether a file is one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ipnet::IpNet;
use sluice_policy::{
    cidr_set::{CidrSet, LIST_LABEL},
    parse_file,
};

const HEADER: &str =
    "# Written by `sluicectl cidrset apply`, which will write it again: change the list, not this file.\n";

/// Name of the set; its file is called so too.
pub fn name(list: &str, index: u32) -> String {
    format!("{list}-{index:03}")
}

/// Name of the file.
pub fn file_name(list: &str, index: u32) -> String {
    format!("{}.yaml", name(list, index))
}

/// The number in a name of a file, if it is the name of a set of this list.
pub fn index_of(list: &str, file: &str) -> Option<u32> {
    let number = file.strip_prefix(list)?.strip_prefix('-')?.strip_suffix(".yaml")?;
    number.parse().ok().filter(|index| file_name(list, *index) == file)
}

/// The set that the bytes hold, or why this is no file of the list.
pub fn parse(list: &str, file: &str, bytes: &[u8]) -> Result<CidrSet, String> {
    let mut parsed = parse_file(file, bytes);
    let only = if parsed.documents.is_empty() && parsed.sets.len() <= 1 { parsed.sets.pop() } else { None };
    let problem = parsed.problems.into_iter().next();
    let Some(set) = only else {
        return Err(problem.map_or_else(|| "it holds other documents".to_owned(), |problem| problem.message));
    };
    let set = set
        .result
        .map_err(|problems| problems.into_iter().next().map(|problem| problem.message).unwrap_or_default())?;
    if set.labels.get(LIST_LABEL).is_none_or(|label| label != list) {
        return Err(format!("it has no label {LIST_LABEL}: {list}, so somebody else wrote it"));
    }
    if format!("{}.yaml", set.name) != file {
        return Err(format!("it holds the set {}", set.name));
    }
    Ok(set)
}

/// The text of a file. The same set is always the same text.
pub fn render(list: &str, index: u32, labels: &BTreeMap<String, String>, prefixes: &[IpNet]) -> String {
    let name = name(list, index);
    let mut text = String::with_capacity(HEADER.len() + 256 + 24 * prefixes.len());
    text += HEADER;
    text += &format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: XdpCidrSet\nmetadata:\n  name: {name:?}\n  labels:\n"
    );
    for (key, value) in labels {
        text += &format!("    {key:?}: {value:?}\n");
    }
    if prefixes.is_empty() {
        text += "spec:\n  cidrs: []\n";
        return text;
    }
    text += "spec:\n  cidrs:\n";
    for prefix in prefixes {
        // Colons mean something else to YAML.
        let written = match prefix {
            IpNet::V4(prefix) => writeln!(text, "  - {prefix}"),
            IpNet::V6(prefix) => writeln!(text, "  - \"{prefix}\""),
        };
        debug_assert!(written.is_ok(), "writing into memory does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let labels: BTreeMap<_, _> = [(LIST_LABEL, "drop"), ("true", "010")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let prefixes =
            ["0.0.0.0/0", "192.0.2.1/32", "::/0", "2001:db8::/32"].map(|prefix| prefix.parse().unwrap());
        for prefixes in [&prefixes[..], &[]] {
            let text = render("drop", 7, &labels, prefixes);
            let set = parse("drop", "drop-007.yaml", text.as_bytes()).unwrap();
            assert_eq!((set.labels, &set.prefixes[..]), (labels.clone(), prefixes));
        }
    }

    #[test]
    fn a_file_of_the_list_is_told_by_its_name() {
        for (file, index) in [("a-000.yaml", Some(0)), ("a-1234.yaml", Some(1234))] {
            assert_eq!(index_of("a", file), index);
        }
        for file in [
            "a.yaml",
            "a-0.yaml",
            "a-00.yaml",
            "a-0001.yaml",
            "a-+01.yaml",
            "a-000-000.yaml",
            "b-000.yaml",
            "a-000.yml",
        ] {
            assert_eq!(index_of("a", file), None, "{file}");
        }
    }

    #[test]
    fn what_somebody_else_wrote_is_no_file_of_the_list() {
        let good = render("a", 0, &[(LIST_LABEL.to_owned(), "a".to_owned())].into(), &[]);
        for (text, why) in [
            (good.replace("\"a\"", "\"b\""), "so somebody else wrote it"),
            (good.replace("a-000", "a-001"), "it holds the set a-001"),
            (format!("{good}---\n{good}"), "other documents"),
            (good.replace("cidrs", "cidr"), "there is no field"),
            (String::new(), "no document"),
        ] {
            let refused = parse("a", "a-000.yaml", text.as_bytes()).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
