//! Protection from deletion: who wants an object gone must take the protection away first.

use serde_json::Value;

/// As a label or an annotation on an object, with any value but `false`: it isn't deleted. On a definition: none of its
/// objects is, either.
pub const PROTECT: &str = "landform.dev/protect";
/// The value that a project gives its own object because its settings say so; it takes back no other.
pub const BY_SETTINGS: &str = "settings";

/// Whether metadata say that their object is protected.
#[must_use]
pub fn is_protected(metadata: &Value) -> bool {
    let said = |place: &str| metadata[place][PROTECT].as_str();
    let mut said = [said("labels"), said("annotations")].into_iter().flatten();
    said.any(|value| value != "false")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_label_or_an_annotation_protects_unless_it_says_false() {
        let table = [
            (json!({}), false),
            (json!({"labels": {PROTECT: "true"}}), true),
            (json!({"annotations": {PROTECT: "true"}}), true),
            (json!({"annotations": {PROTECT: ""}}), true),
            (json!({"annotations": {PROTECT: "false"}}), false),
            (
                json!({"labels": {PROTECT: "false"}, "annotations": {PROTECT: "yes"}}),
                true,
            ),
            (json!({"annotations": null, "labels": [1]}), false),
            (json!(null), false),
        ];
        for (metadata, expected) in table {
            assert_eq!(is_protected(&metadata), expected, "{metadata}");
        }
    }
}
