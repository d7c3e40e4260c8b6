//! Graphs that are made from versions instead of what bundles say: `updateGraph` of `ci.yaml`.

use semver::Version;

use super::draft::{EntryDraft, UpdateGraph};
use crate::edges::Replaces;

/// Gives the entries of a channel, from the lowest version to the highest, their edges. Ranges and names
/// that a bundle skips stay.
pub(super) fn apply(graph: UpdateGraph, entries: &mut [(&Version, EntryDraft)]) {
    match graph {
        UpdateGraph::Replaces => {}
        UpdateGraph::Semver => {
            for number in 0..entries.len() {
                let version = entries[number].0;
                let lower = entries[..number]
                    .iter()
                    .rfind(|(other, _)| other.cmp_precedence(version).is_lt());
                let replaces = lower.map(|(_, entry)| Replaces::Name(entry.name.as_str().into()));
                entries[number].1.edges.replaces = replaces;
            }
        }
        UpdateGraph::SemverSkipPatch => skip_patches(entries),
    }
}

/// The highest of each minor version replaces the highest of the next lower one, and skips the rest of its
/// own.
fn skip_patches(entries: &mut [(&Version, EntryDraft)]) {
    let minor = |version: &Version| (version.major, version.minor);
    let mut below: Option<String> = None;
    let mut start = 0;
    while start < entries.len() {
        let this = minor(entries[start].0);
        let length = entries[start..]
            .iter()
            .take_while(|(version, _)| minor(version) == this)
            .count();
        let (rest, head) = (start..start + length - 1, start + length - 1);
        let skipped: Vec<String> = entries[rest.clone()]
            .iter()
            .map(|(_, entry)| entry.name.clone())
            .collect();
        for (_, entry) in &mut entries[rest] {
            entry.edges.replaces = None;
        }
        let edges = &mut entries[head].1.edges;
        edges.replaces = below.take().map(|name| Replaces::Name(name.into()));
        for name in skipped {
            if !edges.skips.iter().any(|found| **found == *name) {
                edges.skips.push(name.into());
            }
        }
        below = Some(entries[head].1.name.clone());
        start += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::Edges;

    fn made(graph: UpdateGraph, versions: &[&str]) -> Vec<String> {
        let parsed: Vec<Version> = versions
            .iter()
            .map(|text| Version::parse(text).unwrap())
            .collect();
        let mut entries: Vec<(&Version, EntryDraft)> = parsed
            .iter()
            .map(|version| {
                let entry = EntryDraft {
                    name: format!("a.{version}"),
                    edges: Edges {
                        replaces: Some(Replaces::Name("a.written".into())),
                        ..Edges::default()
                    },
                    place: String::new(),
                };
                (version, entry)
            })
            .collect();
        apply(graph, &mut entries);
        let shown = entries.iter().map(|(_, entry)| {
            let replaces = match &entry.edges.replaces {
                Some(Replaces::Name(name)) => name.to_string(),
                other => format!("{other:?}"),
            };
            format!("{}<-{replaces} {:?}", entry.name, entry.edges.skips)
        });
        shown.collect()
    }

    #[test]
    fn each_version_replaces_the_next_lower_one() {
        assert_eq!(
            made(
                UpdateGraph::Semver,
                &["1.0.0-rc.1", "1.0.0", "1.0.0+b", "1.2.0"]
            ),
            [
                "a.1.0.0-rc.1<-None []",
                "a.1.0.0<-a.1.0.0-rc.1 []",
                "a.1.0.0+b<-a.1.0.0-rc.1 []",
                "a.1.2.0<-a.1.0.0+b []"
            ]
        );
        assert_eq!(
            made(UpdateGraph::Replaces, &["1.0.0"]),
            ["a.1.0.0<-a.written []"]
        );
    }

    #[test]
    fn patches_are_skipped() {
        assert_eq!(
            made(
                UpdateGraph::SemverSkipPatch,
                &["1.0.0", "1.0.1", "1.1.0", "2.0.0", "2.0.1"]
            ),
            [
                "a.1.0.0<-None []",
                "a.1.0.1<-None [\"a.1.0.0\"]",
                "a.1.1.0<-a.1.0.1 []",
                "a.2.0.0<-None []",
                "a.2.0.1<-a.1.1.0 [\"a.2.0.0\"]"
            ]
        );
    }
}
