//! What Landform adds to an object before it applies it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landform_api::keys::{ANNOTATION_FORMER_NAME, ANNOTATION_RENAMED_FROM};
use landform_api::project::{
    ANNOTATION_APPLIED, ANNOTATION_BLUEPRINT, ANNOTATION_FILE, LABEL_PROJECT,
};
use landform_api::protection::{BY_SETTINGS, PROTECT, is_protected};
use landform_engine::hooks::three_way;
use serde_json::{Value, json};

/// Fields of the metadata that only servers set; the namespace is said apart.
const SERVERS: [&str; 9] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "namespace",
];
/// Annotations that others set and remove: they would be set back with every sync.
const OTHERS: [&str; 3] = [
    ANNOTATION_RENAMED_FROM,
    ANNOTATION_FORMER_NAME,
    ANNOTATION_APPLIED,
];

/// What is added. With none of these an object is only noted as applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The project that it belongs to, and the file that it stands in.
    pub project: Option<(String, String)>,
    /// A sum of the blueprint that it uses.
    pub blueprint: Option<String>,
    /// Whether the project's settings protect it from deletion.
    pub protect: bool,
}

impl Marks {
    /// Those that an object has: who applies it by hand must not take it from its project.
    #[must_use]
    pub fn of(live: &Value) -> Self {
        let metadata = &live["metadata"];
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        let project = text(&metadata["labels"][LABEL_PROJECT]);
        let file = text(&metadata["annotations"][ANNOTATION_FILE]);
        Self {
            project: project.zip(file),
            blueprint: text(&metadata["annotations"][ANNOTATION_BLUEPRINT]),
            protect: metadata["annotations"][PROTECT] == BY_SETTINGS,
        }
    }
}

/// What is wanted of an object: what the file says, without what only servers say, in its namespace (none for
/// objects of the cluster), with its marks and the shape of what is applied.
#[must_use]
pub fn prepare(object: &Value, namespace: Option<&str>, marks: &Marks) -> Value {
    let mut wanted = three_way::without_nulls(object.clone());
    if !wanted.is_object() {
        wanted = json!({});
    }
    if wanted["kind"] == "Secret" && wanted["apiVersion"] == "v1" {
        encode(&mut wanted);
    }
    remove(&mut wanted, &["status"]);
    make_map(&mut wanted, "metadata");
    let metadata = &mut wanted["metadata"];
    remove(metadata, &SERVERS);
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    make_map(metadata, "annotations");
    if let Some((project, file)) = &marks.project {
        make_map(metadata, "labels");
        metadata["labels"][LABEL_PROJECT] = json!(project);
        metadata["annotations"][ANNOTATION_FILE] = json!(file);
    }
    if let Some(sum) = &marks.blueprint {
        metadata["annotations"][ANNOTATION_BLUEPRINT] = json!(sum);
    }
    if marks.protect && !is_protected(metadata) {
        metadata["annotations"][PROTECT] = json!(BY_SETTINGS);
    }
    remove(&mut metadata["annotations"], &OTHERS);
    let shape = three_way::shape(&wanted).to_string();
    wanted["metadata"]["annotations"][ANNOTATION_APPLIED] = json!(shape);
    wanted
}

fn make_map(value: &mut Value, field: &str) {
    if !value[field].is_object() {
        value[field] = json!({});
    }
}

fn remove(value: &mut Value, names: &[&str]) {
    if let Value::Object(fields) = value {
        for name in names {
            fields.remove(*name);
        }
    }
}

/// The API stores `stringData` of Secrets as `data`.
fn encode(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else {
        return;
    };
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    make_map(secret, "data");
    for (name, text) in texts {
        let text = match text {
            Value::String(text) => json!(STANDARD.encode(text)),
            // The API says what is wrong with it.
            other => other,
        };
        secret["data"][name] = text;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::{Difference, difference};

    #[test]
    fn what_is_wanted_has_marks_and_nothing_of_servers() {
        let marks = Marks {
            project: Some(("shop".into(), "a/b.yaml".into())),
            blueprint: Some("1".into()),
            protect: false,
        };
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}, "status": {}, "x": null,
            "metadata": {"name": "n", "uid": "1", "annotations": {ANNOTATION_RENAMED_FROM: "m"}},
        });
        let wanted = prepare(&object, Some("web"), &marks);
        assert_eq!(wanted["data"], json!({"a": "Yg=="}));
        for gone in ["status", "stringData", "x"] {
            assert_eq!(wanted.get(gone), None, "{gone}");
        }
        let metadata = &wanted["metadata"];
        assert_eq!(
            (&metadata["namespace"], metadata.get("uid")),
            (&json!("web"), None)
        );
        assert_eq!(metadata["labels"], json!({LABEL_PROJECT: "shop"}));
        assert_eq!(metadata["annotations"][ANNOTATION_FILE], "a/b.yaml");
        assert_eq!(metadata["annotations"].get(ANNOTATION_RENAMED_FROM), None);
        let shape = metadata["annotations"][ANNOTATION_APPLIED]
            .as_str()
            .unwrap();
        assert!(
            !shape.contains("Yg=="),
            "a Secret is in an annotation: {shape}"
        );
        assert_eq!(difference(&wanted, Some(&wanted)), Difference::Same);
    }

    #[test]
    fn what_kubectl_applied_counts_until_we_apply() {
        let wanted = prepare(
            &json!({"metadata": {"name": "n"}, "a": 1}),
            None,
            &Marks::default(),
        );
        let applied = json!({"a": 1, "b": 2}).to_string();
        let mut live = json!({
            "metadata": {"name": "n", "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": applied,
            }},
            "a": 1, "b": 2, "c": 3,
        });
        let Difference::Change(patch) = difference(&wanted, Some(&live)) else {
            panic!("nothing to change");
        };
        assert_eq!((&patch["b"], patch.get("c")), (&Value::Null, None));
        live["metadata"]["annotations"] = wanted["metadata"]["annotations"].clone();
        assert_eq!(
            difference(&wanted, Some(&live)),
            Difference::Same,
            "b is somebody else's now"
        );
    }

    #[test]
    fn who_applies_by_hand_leaves_an_object_to_its_project() {
        let marks = Marks {
            project: Some(("shop".into(), "a.yaml".into())),
            blueprint: Some("1".into()),
            protect: false,
        };
        let object = json!({"metadata": {"name": "n"}, "a": 1});
        let live = prepare(&object, None, &marks);
        assert_eq!(Marks::of(&live), marks);
        let by_hand = prepare(&object, None, &Marks::of(&live));
        assert_eq!(difference(&by_hand, Some(&live)), Difference::Same);
    }

    #[test]
    fn anything_can_be_prepared() {
        for odd in [
            json!(null),
            json!([1]),
            json!({"metadata": 1}),
            json!({"kind": "Secret", "apiVersion": "v1", "stringData": 1, "data": 2}),
        ] {
            let wanted = prepare(
                &odd,
                None,
                &Marks {
                    project: Some(("p".into(), "f".into())),
                    ..Marks::default()
                },
            );
            assert_eq!(wanted["metadata"]["labels"][LABEL_PROJECT], "p");
        }
    }
}
