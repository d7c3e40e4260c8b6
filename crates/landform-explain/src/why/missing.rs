//! An object that is waited for and doesn't exist: who could bring it, or which name was meant.

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_api::landscaper::{keys, labels, names};
use serde_json::Value;

/// What is known about the origin of a missing object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// Installations that export it.
    pub(super) exporters: Vec<String>,
    /// A name that is exported there and looks like it, with the installation that exports it.
    pub(super) similar: Option<(String, String)>,
}

/// Where exports of a kind are in a spec, and the field with their name.
fn place(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "DataObject" => Some(("data", "dataRef")),
        "Target" => Some(("targets", "target")),
        _ => None,
    }
}

/// Whether installations can bring objects of this kind.
pub(super) fn can_be_exported(kind: &str) -> bool {
    place(kind).is_some()
}

/// What the installations of a namespace export. Made once: in a long chain every link may miss something.
#[derive(Debug, Default)]
pub(super) struct Exports {
    /// Exporters, by kind and name of the object.
    exporters: BTreeMap<(&'static str, String), Vec<String>>,
    /// Names that people gave at the root: kind, name, exporter.
    given: Vec<(&'static str, String, String)>,
}

impl Exports {
    pub(super) fn of(installations: &[Arc<Value>]) -> Self {
        let mut all = Self::default();
        for installation in installations {
            let exporter = installation["metadata"]["name"]
                .as_str()
                .unwrap_or_default();
            let parent = labels::in_metadata(&installation["metadata"], keys::ENCOMPASSED_BY);
            let context = parent.map(names::installation_context);
            for kind in ["DataObject", "Target"] {
                let Some((list, field)) = place(kind) else {
                    continue;
                };
                let exports = installation["spec"]["exports"][list].as_array();
                let exported = exports
                    .into_iter()
                    .flatten()
                    .filter_map(|export| export[field].as_str());
                for key in exported {
                    let name = names::data_name(context.as_deref(), key);
                    let exporters = all.exporters.entry((kind, name)).or_default();
                    exporters.push(exporter.to_owned());
                    if context.is_none() {
                        all.given.push((kind, key.to_owned(), exporter.to_owned()));
                    }
                }
            }
        }
        all
    }

    /// Who exports a missing object; else which name was perhaps meant.
    pub(super) fn origin(&self, kind: &str, name: &str) -> Origin {
        let kind = match kind {
            "DataObject" => "DataObject",
            "Target" => "Target",
            _ => return Origin::default(),
        };
        if let Some(exporters) = self.exporters.get(&(kind, name.to_owned())) {
            return Origin {
                exporters: exporters.clone(),
                similar: None,
            };
        }
        let given = self.given.iter().filter(|(of, ..)| *of == kind);
        let near = given
            .map(|(_, key, exporter)| (distance(key, name), key, exporter))
            .filter(|(distance, ..)| *distance <= tolerated(name))
            .min_by_key(|(distance, ..)| *distance);
        Origin {
            exporters: Vec::new(),
            similar: near.map(|(_, key, exporter)| (key.clone(), exporter.clone())),
        }
    }
}

/// So many letters may differ in a name that was probably meant.
fn tolerated(name: &str) -> usize {
    match name.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    }
}

/// How many letters must be put in, taken out or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut corner = row.first().copied().unwrap_or_default();
        let mut left = at + 1;
        let mut next = vec![left];
        for (other, above) in b.iter().zip(row.iter().skip(1)) {
            let changed = corner + usize::from(letter != *other);
            left = changed.min(above + 1).min(left + 1);
            corner = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn exporter(name: &str, parent: Option<&str>, key: &str) -> Arc<Value> {
        let mut object = json!({
            "metadata": {"name": name},
            "spec": {"exports": {"data": [{"name": "x", "dataRef": key}]}},
        });
        if let Some(parent) = parent {
            object["metadata"]["labels"] = json!({keys::ENCOMPASSED_BY: parent});
        }
        Arc::new(object)
    }

    #[test]
    fn letters_that_differ_are_counted() {
        for (a, b, expected) in [
            ("port", "port", 0),
            ("port", "ports", 1),
            ("db-url", "db-uri", 1),
            ("ab", "ba", 2),
            ("", "abc", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn the_exporter_is_found_in_its_context_and_a_similar_name_is_offered() {
        let all = [
            exporter("db", None, "db-url"),
            exporter("sub", Some("top"), "port"),
        ];
        let all = Exports::of(&all);
        assert_eq!(all.origin("DataObject", "db-url").exporters, ["db"]);
        let hashed = names::data_name(Some("Inst.top"), "port");
        assert_eq!(all.origin("DataObject", &hashed).exporters, ["sub"]);
        let near = all.origin("DataObject", "db-urL");
        assert_eq!(near.similar, Some(("db-url".into(), "db".into())));
        assert!(near.exporters.is_empty());
        assert_eq!(all.origin("DataObject", "port"), Origin::default());
        assert_eq!(all.origin("Target", "db-url"), Origin::default());
    }
}
