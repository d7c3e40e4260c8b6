//! What bundles need of others: properties and dependencies of OLM.

use serde_json::Value;

use super::draft::Needs;
use super::problem::Note;
use super::value::{items, kind, text};
use crate::model::RequiredPackage;
use crate::range::Range;

/// How deep constraints may stand inside each other.
const DEEPEST: usize = 16;

impl Needs {
    /// Takes `olm.gvk.required`: a kind.
    pub(super) fn kind(&mut self, value: &Value, place: &str) {
        match kind(value) {
            Some(kind) if !self.kinds.contains(&kind) => self.kinds.push(kind),
            Some(_) => {}
            None => self.notes.push(Note::error(
                place,
                "a required kind has no version or no kind: it is left out, and nobody checks that \
                 it is there; give group, version and kind",
            )),
        }
    }

    /// Takes `olm.package.required`: a package and a range.
    pub(super) fn package(&mut self, value: &Value, place: &str) {
        let name = match text(value, "packageName") {
            "" => text(value, "name"),
            name => name,
        };
        // Dependencies of bundle directories say `version`.
        let range = match text(value, "versionRange") {
            "" => text(value, "version"),
            range => range,
        };
        self.package_in_range(name, range, place);
    }

    /// Takes a package and the text of a range.
    pub(super) fn package_in_range(&mut self, name: &str, range: &str, place: &str) {
        if name.is_empty() {
            self.notes.push(Note::error(
                place,
                "a required package has no name: it is left out, and nobody checks that it is there",
            ));
            return;
        }
        // The lowest version there can be.
        let range = if range.trim().is_empty() {
            ">=0.0.0-0"
        } else {
            range
        };
        match Range::parse(range) {
            Ok(range) => self.packages.push(RequiredPackage {
                package: name.into(),
                range,
            }),
            Err(error) => self.notes.push(Note::error(
                place,
                format!(
                    "{error}: that package {name} is required is left out, and nobody checks that it \
                     is there"
                ),
            )),
        }
    }

    /// Takes `olm.constraint`, as far as it is a list of things that must all be there.
    pub(super) fn constraint(&mut self, value: &Value, place: &str) {
        self.constraint_within(value, place, 0);
    }

    fn constraint_within(&mut self, value: &Value, place: &str, depth: usize) {
        let unchecked = |what: &str| {
            let message = match text(value, "failureMessage") {
                "" => String::new(),
                message => format!(" ({message:?})"),
            };
            Note::warning(
                place,
                format!(
                    "{what}{message} is not supported: nobody checks it, and the version is offered \
                     all the same"
                ),
            )
        };
        if depth > DEEPEST {
            let what = format!("a constraint nested deeper than {DEEPEST}");
            self.notes.push(unchecked(&what));
        } else if let Some(kind) = value.get("gvk") {
            self.kind(kind, place);
        } else if let Some(package) = value.get("package") {
            self.package(package, place);
        } else if let Some(all) = value.get("all") {
            for one in items(all, "constraints") {
                self.constraint_within(one, place, depth + 1);
            }
        } else if let Some(any) = value.get("any") {
            let constraints: Vec<&Value> = items(any, "constraints").collect();
            match (constraints.as_slice(), one_package(&constraints)) {
                ([only], _) => self.constraint_within(only, place, depth + 1),
                (_, Some((name, range))) => self.package_in_range(&name, &range, place),
                (_, None) => self
                    .notes
                    .push(unchecked("a constraint with a choice (any)")),
            }
        } else if value.get("not").is_some() {
            self.notes
                .push(unchecked("a constraint that forbids (not)"));
        } else if value.get("cel").is_some() {
            self.notes.push(unchecked("a constraint in CEL"));
        } else {
            self.notes
                .push(unchecked("a constraint of an unknown sort"));
        }
    }
}

/// A choice between ranges of one package is one range.
fn one_package(constraints: &[&Value]) -> Option<(String, String)> {
    let mut name = "";
    let mut ranges = Vec::new();
    for constraint in constraints {
        let package = constraint.get("package")?;
        let this = match text(package, "packageName") {
            "" => text(package, "name"),
            this => this,
        };
        let range = text(package, "versionRange");
        if this.is_empty() || range.is_empty() || !(name.is_empty() || name == this) {
            return None;
        }
        name = this;
        ranges.push(range);
    }
    (!ranges.is_empty()).then(|| (name.to_owned(), ranges.join(" || ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn needs(constraint: Value) -> (Vec<String>, Vec<String>) {
        let mut needs = Needs::default();
        needs.constraint(&constraint, "f:1");
        let kinds = needs
            .kinds
            .iter()
            .map(|kind| format!("{}/{}", kind.group, kind.kind));
        let packages = needs
            .packages
            .iter()
            .map(|one| format!("{} {}", one.package, one.range));
        let notes = needs.notes.iter().map(|note| note.reason.clone());
        (kinds.chain(packages).collect(), notes.collect())
    }

    #[test]
    fn what_must_all_be_there_is_understood() {
        let (found, notes) = needs(json!({"all": {"constraints": [
            {"gvk": {"group": "a.io", "version": "v1", "kind": "A"}},
            {"all": {"constraints": [{"package": {"packageName": "b", "versionRange": ">=1.0.0"}}]}},
            {"any": {"constraints": [{"package": {"name": "c", "versionRange": "<1.0.0"}}]}},
        ]}}));
        assert_eq!(found, ["a.io/A", "b >=1.0.0", "c <1.0.0"]);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn a_choice_between_ranges_of_one_package_is_one_range() {
        let package = |range: &str| json!({"package": {"packageName": "b", "versionRange": range}});
        let (found, notes) =
            needs(json!({"any": {"constraints": [package("<1.0.0"), package(">2.0.0")]}}));
        assert_eq!(
            (found, notes),
            (vec!["b <1.0.0 || >2.0.0".to_owned()], vec![])
        );
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let gvk = |kind: &str| json!({"gvk": {"group": "a.io", "version": "v1", "kind": kind}});
        for (constraint, word) in [
            (
                json!({"any": {"constraints": [gvk("A"), gvk("B")]}}),
                "(any)",
            ),
            (json!({"not": {"constraints": [gvk("A")]}}), "(not)"),
            (
                json!({"cel": {"rule": "true"}, "failureMessage": "no luck"}),
                "CEL (\"no luck\")",
            ),
            (json!({"new": 1}), "unknown sort"),
        ] {
            let (found, notes) = needs(constraint);
            assert!(found.is_empty());
            assert!(notes.len() == 1 && notes[0].contains(word), "{notes:?}");
        }
        let mut deep = gvk("A");
        for _ in 0..40 {
            deep = json!({"all": {"constraints": [deep]}});
        }
        assert!(needs(deep).1[0].contains("deeper than 16"));
    }
}
