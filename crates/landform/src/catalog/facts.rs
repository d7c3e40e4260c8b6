//! Files of facts: a line of JSON for each bundle of a catalog, with gzip or without.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use landform_catalog::{Content, facts};
use serde_json::Value;

use crate::AnyError;

/// How large a file may become when it is unpacked.
const LARGEST: u64 = 256 << 20;

/// The content, when the path is a file of facts.
pub(super) fn content(path: &Path, packages: Option<&Path>) -> Result<Option<Content>, AnyError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.is_file() || !(name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) {
        return Ok(None);
    }
    let bundles = text(path)?;
    if !are_facts(&bundles) {
        if name.ends_with(".gz") {
            let message = format!(
                "{} holds no facts of bundles: unpack it first",
                path.display()
            );
            return Err(message.into());
        }
        return Ok(None);
    }
    let beside = path.with_file_name(name.replacen("catalog", "packages", 1));
    let packages: Option<PathBuf> = match packages {
        Some(named) => Some(named.to_owned()),
        None => Some(beside).filter(|beside| beside != path && beside.is_file()),
    };
    let packages = packages.as_deref().map(text).transpose()?;
    if packages.is_none() {
        eprintln!(
            "warning: no file says how the graphs of {} are made, so all are taken as written: name one \
             with --packages",
            path.display()
        );
    }
    let content = facts::content(&bundles, &packages.unwrap_or_default())?;
    Ok(Some(content))
}

/// Whether the first line is that of a bundle.
fn are_facts(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let Ok(Value::Object(fields)) = serde_json::from_str(first) else {
        return false;
    };
    let known = ["package", "dir", "name", "version", "channels"];
    known.iter().all(|field| fields.contains_key(*field))
}

fn text(path: &Path) -> Result<String, AnyError> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| format!("{shown} can't be read: {error}"))?;
    let packed = path.extension().is_some_and(|extension| extension == "gz");
    let source: Box<dyn Read> = if packed {
        Box::new(GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut text = String::new();
    source
        .take(LARGEST + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("{shown} can't be read: {error}"))?;
    if text.len() as u64 > LARGEST {
        return Err(format!("{shown} is larger than {LARGEST} bytes").into());
    }
    Ok(text)
}
