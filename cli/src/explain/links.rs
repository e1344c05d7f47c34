//! Reading `--links`: what a node's network devices are, so that a plan for that node can be made
//! anywhere.

use std::{fs, path::Path};

use serde::Deserialize;
use sluice_policy::LinkFacts;

use crate::error::Error;

/// The list stands under a key, as other lists of objects do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    links: Vec<LinkFacts>,
}

/// Reads the list.
pub fn read(path: &Path) -> Result<Vec<LinkFacts>, Error> {
    let bad = |message: String| Error::Links { path: path.to_path_buf(), message };
    let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let Document { mut links } =
        serde_saphyr::from_str(&text).map_err(|error| bad(error.without_snippet().to_string()))?;
    if let Some(index) = links.iter().position(|link| link.name.is_empty()) {
        return Err(bad(format!("entry {index} has no name")));
    }
    number(&mut links);
    Ok(links)
}

/// People write names; the kernel's numbers only have to differ.
fn number(links: &mut [LinkFacts]) {
    let mut next = links.iter().map(|link| link.ifindex).max().unwrap_or(0);
    for link in links.iter_mut().filter(|link| link.ifindex == 0) {
        next += 1;
        link.ifindex = next;
    }
}
