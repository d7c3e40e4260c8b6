//! The preview as text: the tree, what is shared, what will hold it up, and how much it is.

use std::fmt::Write as _;

use serde_json::Value;

/// The whole preview.
pub(super) fn preview(preview: &Value) -> String {
    let mut text = String::new();
    for line in list(&preview["tree"]) {
        let depth = line["depth"].as_u64().unwrap_or(0);
        let indent = "  ".repeat(usize::try_from(depth).unwrap_or(0).min(40));
        let fate = match line["fate"].as_str() {
            Some("losesReference") => "  (stays, loses its reference)",
            _ => "",
        };
        let _ = writeln!(text, "{indent}{}{fate}", title(&line["object"]));
    }
    if let Some(omitted) = preview["omitted"].as_u64().filter(|omitted| *omitted > 0) {
        let _ = writeln!(text, "… and {omitted} more");
    }
    for content in list(&preview["content"]) {
        let (count, resource) = (&content["count"], word(&content["resource"]));
        let _ = writeln!(text, "with everything in it: {count} {resource}");
    }
    for shared in list(&preview["shared"]) {
        let owners: Vec<&str> = list(&shared["otherOwners"])
            .filter_map(Value::as_str)
            .collect();
        let fate = if shared["fate"] == "goes" {
            "goes although"
        } else {
            "stays since"
        };
        let title = title(&shared["object"]);
        let _ = writeln!(
            text,
            "shared: {title} {fate} it is also owned by {}",
            owners.join(", ")
        );
    }
    for blocker in list(&preview["blockers"]) {
        let _ = writeln!(text, "blocker: {}", word(&blocker["message"]));
    }
    for failing in list(&preview["failingKinds"]) {
        let (resource, why) = (word(&failing["resource"]), word(&failing["message"]));
        let _ = writeln!(
            text,
            "unknown: {resource} can't be listed, so what depends on this there is not shown ({why})"
        );
    }
    let by_kind: Vec<String> = preview["goes"]["byKind"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(resource, count)| format!("{count} {resource}"))
        .collect();
    let stays = preview["losesReference"].as_u64().unwrap_or(0);
    let _ = write!(
        text,
        "{} deletes {}",
        word(&preview["policy"]),
        by_kind.join(", ")
    );
    let _ = match stays {
        0 => writeln!(text, "."),
        stays => writeln!(text, "; {stays} loses a reference and stays."),
    };
    text
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn title(object: &Value) -> String {
    let (kind, name) = (word(&object["kind"]), word(&object["name"]));
    match word(&object["namespace"]) {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn g14_the_preview_is_a_tree_with_what_is_shared_and_what_blocks() {
        let object =
            |name: &str| json!({"kind": "ConfigMap", "namespace": "default", "name": name});
        let shown = preview(&json!({
            "policy": "Background",
            "tree": [
                {"depth": 0, "object": object("a"), "fate": "goes"},
                {"depth": 1, "object": object("b"), "fate": "goes"},
                {"depth": 1, "object": object("s"), "fate": "losesReference"},
            ],
            "omitted": 3,
            "goes": {"count": 5, "byKind": {"configmaps": 4, "secrets": 1}},
            "losesReference": 1,
            "shared": [{"object": object("s"), "fate": "losesReference", "otherOwners": ["ConfigMap default/o"]}],
            "blockers": [{"message": "ConfigMap default/b will stay until x.io/hold is removed"}],
        }));
        let expected = "ConfigMap default/a\n  ConfigMap default/b\n  ConfigMap default/s  (stays, loses its reference)\n… and 3 more\nshared: ConfigMap default/s stays since it is also owned by ConfigMap default/o\nblocker: ConfigMap default/b will stay until x.io/hold is removed\nBackground deletes 4 configmaps, 1 secrets; 1 loses a reference and stays.\n";
        assert_eq!(shown, expected);
    }
}
