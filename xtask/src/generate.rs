//! Writes the files that are generated from code and committed: the CRDs. It changes nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sluice_api::{CustomResourceDefinition, custom_resource_definitions};

const HEADER: &str = "# Generated from crates/api by `cargo xtask generate`. Do not edit.\n";

/// Writes the files, or with `check` says which of them differ from what would be written.
pub fn run(check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in files()? {
        let is_current = fs::read_to_string(&path).is_ok_and(|current| current == text);
        if is_current {
            continue;
        }
        if check {
            stale.push(path.display().to_string());
        } else {
            write(&path, &text)?;
            println!("wrote {}", path.display());
        }
    }
    if !stale.is_empty() {
        bail!(
            "not as crates/api says: {}. Run `cargo xtask generate` and commit the result",
            stale.join(", ")
        );
    }
    Ok(())
}

/// Every generated file with its content.
fn files() -> Result<Vec<(PathBuf, String)>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("crds");
    let file = |definition: CustomResourceDefinition| {
        let yaml = serde_saphyr::to_string(&definition).context("writing a CRD as YAML")?;
        let name = definition.metadata.name.context("a CRD without a name")?;
        Ok((directory.join(format!("{name}.yaml")), format!("{HEADER}{yaml}")))
    };
    custom_resource_definitions().into_iter().map(file).collect()
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(|| format!("creating {}", directory.display()))?;
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn committed_files_are_current() {
        super::run(true).unwrap();
    }
}
