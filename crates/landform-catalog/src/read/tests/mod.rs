//! What is read from good catalogs and from damaged ones.

mod community;
mod damage;
mod good;
mod property;

use std::path::PathBuf;

use crate::edges::Replaces;
use crate::model::{Channel, Content, Package};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Problems as people see them.
fn problems(content: &Content) -> Vec<String> {
    let shown = content.problems.iter().map(|problem| {
        let word = if problem.warning { "warning " } else { "" };
        format!(
            "{word}{} [{}] {}",
            problem.file, problem.package, problem.reason
        )
    });
    shown.collect()
}

/// Names, versions and channels of a package, in one line each.
fn shown(package: &Package) -> Vec<String> {
    package.channels.values().map(line).collect()
}

fn line(channel: &Channel) -> String {
    let entries = channel.entries.iter().map(|entry| {
        let mut text = entry.name.to_string();
        if entry.bundle.is_none() {
            text.push('?');
        }
        match &entry.edges.replaces {
            None => {}
            Some(Replaces::Name(name)) => text.push_str(&format!("<-{name}")),
            Some(Replaces::Version(version)) => text.push_str(&format!("<-={version}")),
            Some(Replaces::Range(range)) => text.push_str(&format!("<-({range})")),
        }
        for skipped in &entry.edges.skips {
            text.push_str(&format!(" skips {skipped}"));
        }
        if let Some(range) = &entry.edges.skip_range {
            text.push_str(&format!(" skips ({range})"));
        }
        text
    });
    let entries: Vec<String> = entries.collect();
    format!("{}: {}", channel.name, entries.join(", "))
}
