//! Where this machine gets its Debian packages from, as its own apt sources say.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

const SOURCES: &str = "/etc/apt";
/// The suite by which Debian's own archive is told from others.
const SUITE: &str = "bookworm";

/// The address of the first archive that carries Debian 12.
pub fn find() -> Result<String> {
    files()
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .find_map(|text| in_stanzas(&text).or_else(|| in_lines(&text)))
        .with_context(|| format!("no source in {SOURCES} carries {SUITE}: the guests need its packages"))
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(SOURCES);
    let entries = fs::read_dir(folder.join("sources.list.d")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.insert(0, folder.join("sources.list"));
    files
}

/// The newer form: stanzas of fields.
fn in_stanzas(text: &str) -> Option<String> {
    text.split("\n\n").find_map(|stanza| {
        let field = |name: &str| {
            let line = stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(|values| values.split_ascii_whitespace().collect::<Vec<_>>()).unwrap_or_default()
        };
        let carries = field("Types").contains(&"deb") && field("Suites").contains(&SUITE);
        carries.then(|| field("URIs").first().map(|uri| (*uri).to_owned()))?
    })
}

/// The older form: `deb [options] address suite component...`.
fn in_lines(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let line = line.strip_prefix("deb ")?;
        let line = line.split_once(']').map_or(line, |(_, rest)| rest);
        let mut words = line.split_ascii_whitespace();
        let address = words.next()?;
        (words.next()? == SUITE).then(|| address.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::{in_lines, in_stanzas};

    #[test]
    fn stanzas() {
        let text = "Types: deb\nURIs: http://other.example/x\nSuites: stable\n\nTypes: deb\n# A comment.\n\
            URIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n";
        assert_eq!(in_stanzas(text).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(in_lines(text), None);
    }

    #[test]
    fn lines() {
        let text = "# deb http://no.example bookworm main\ndeb http://other.example stable main\n\
            deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib\n";
        assert_eq!(in_lines(text).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(in_stanzas(text), None);
    }
}
