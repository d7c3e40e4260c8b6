//! Whether a definition may take the place of another one: no version that objects are stored in is dropped,
//! and no object that exists loses a field or becomes invalid. Pure.

use landform_schema::Schema;
use serde_json::Value;

/// So many objects are named; of the others only the number.
const NAMED: usize = 5;

/// An object of the kind, with its name for people.
pub(crate) struct Existing {
    pub(crate) title: String,
    pub(crate) object: Value,
}

/// What would break; none when nothing would.
pub(crate) fn breaks(stored: &[String], wanted: &Value, objects: &[Existing]) -> Option<String> {
    let versions = wanted["spec"]["versions"].as_array();
    let versions = || versions.into_iter().flatten();
    let names: Vec<_> = versions()
        .filter_map(|version| version["name"].as_str())
        .collect();
    let dropped: Vec<_> = stored
        .iter()
        .filter(|name| !names.contains(&name.as_str()))
        .collect();
    if let Some(dropped) = dropped.first() {
        let titles: Vec<_> = objects.iter().map(|found| found.title.as_str()).collect();
        // The API refuses it even when no object is left, until the list of stored versions says so.
        let of_whom = if titles.is_empty() {
            String::new()
        } else {
            format!(
                ", and there are objects that may be in it: {}",
                list(&titles)
            )
        };
        return Some(format!(
            "it drops version {dropped}, which is one of status.storedVersions{of_whom}; store all objects in \
             another version first, and take {dropped} out of status.storedVersions"
        ));
    }
    let mut broken = Vec::new();
    let mut why = None;
    for existing in objects {
        let api_version = existing.object["apiVersion"].as_str().unwrap_or_default();
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let Some(found) = versions().find(|found| found["name"] == version) else {
            continue;
        };
        let schema = &found["schema"]["openAPIV3Schema"];
        let Ok(schema) = Schema::from_crd(schema) else {
            return Some(format!("its schema of version {version} isn't structural"));
        };
        if let Some(problem) = problem(&schema, &existing.object) {
            broken.push(existing.title.as_str());
            why.get_or_insert(problem);
        }
    }
    why.map(|why| {
        format!(
            "objects that exist would break: {} ({why}); change them first",
            list(&broken)
        )
    })
}

/// What would become of one object: a field that is lost, or an error.
fn problem(schema: &Schema, object: &Value) -> Option<String> {
    let mut copy = object.clone();
    let lost = schema.prune(&mut copy);
    if let Some(field) = lost.first() {
        return Some(format!("the field {field} would be lost"));
    }
    if let Err(exceeded) = schema.apply_defaults(&mut copy) {
        return Some(format!(
            "with its defaults it would be too large: {exceeded}"
        ));
    }
    // Not as an update, which leaves parts alone that don't change.
    let errors = schema.validate(&copy, None);
    errors.first().map(ToString::to_string)
}

fn list(titles: &[&str]) -> String {
    let named = titles
        .iter()
        .take(NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match titles.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(version: &str, fields: &Value) -> Value {
        json!({"spec": {"versions": [{
            "name": version, "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": fields},
            }}},
        }]}})
    }

    fn object(spec: &Value) -> Existing {
        Existing {
            title: "Cluster shop/a".into(),
            object: json!({
                "apiVersion": "etcd.example.com/v1", "kind": "Cluster",
                "metadata": {"name": "a", "namespace": "shop"}, "spec": spec,
            }),
        }
    }

    #[test]
    fn o5_a_definition_that_drops_a_stored_version_a_used_field_or_a_value_is_refused_by_name() {
        let size = json!({"size": {"type": "integer"}});
        let stored = ["v1".to_owned()];
        for (what, wanted, spec, expected) in [
            (
                "the stored version",
                definition("v2", &size),
                json!({"size": 3}),
                "drops version v1",
            ),
            (
                "a field in use",
                definition("v1", &json!({"replicas": {"type": "integer"}})),
                json!({"size": 3}),
                "the field spec.size would be lost",
            ),
            (
                "a value in use",
                definition("v1", &json!({"size": {"type": "integer", "maximum": 2}})),
                json!({"size": 3}),
                "spec.size",
            ),
        ] {
            let found = breaks(&stored, &wanted, &[object(&spec)]).unwrap_or_default();
            assert!(found.contains(expected), "{what}: {found}");
            assert!(found.contains("Cluster shop/a"), "{what}: {found}");
        }
    }

    #[test]
    fn o5_a_definition_that_keeps_all_that_is_used_is_taken() {
        let stored = ["v1".to_owned()];
        let more = json!({"size": {"type": "integer"}, "zone": {"type": "string", "default": "a"}});
        let fits = breaks(
            &stored,
            &definition("v1", &more),
            &[object(&json!({"size": 3}))],
        );
        assert_eq!(fits, None);
        let unused = breaks(&[], &definition("v2", &json!({})), &[]);
        assert_eq!(unused, None, "nothing is stored");
        let told = breaks(&stored, &definition("v2", &json!({})), &[]);
        assert!(told.is_some(), "the API would refuse it");
    }
}
