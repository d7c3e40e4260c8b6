//! What `kubectl apply -f DIRECTORY` makes of a `landform.yaml`: a Project that names no directory.
//!
//! Where nothing reads the directory the object is kept, and nothing is done with it. Where a project has the name already, what
//! was applied is what the file said then: it doesn't come on top of the file, which would hide later changes.

use landform_api::project::{ProjectSpec, ProjectStatus};
use serde_json::Value;

/// Where kubectl and `landform apply` note what they applied.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether a Project is settings alone: it never had a directory, and so no objects.
pub(crate) fn is_settings_alone(spec: &ProjectSpec, status: &ProjectStatus) -> bool {
    spec.directory.is_empty() && status.settings.is_none() && status.objects == 0
}

/// The spec without what was applied from settings.
pub(crate) fn without_settings(mut spec: ProjectSpec, last_applied: Option<&str>) -> ProjectSpec {
    let Some(applied) = last_applied.and_then(settings) else {
        return spec;
    };
    spec.namespace = spec
        .namespace
        .filter(|own| Some(own) != applied.namespace.as_ref());
    spec.grace = spec.grace.filter(|own| Some(own) != applied.grace.as_ref());
    spec.values
        .retain(|name, value| applied.values.get(name) != Some(value));
    spec.ignore.retain(|own| !applied.ignore.contains(own));
    spec.links.retain(|own| !applied.links.contains(own));
    spec
}

/// The settings that were applied; none when it was a Project with a directory.
fn settings(last_applied: &str) -> Option<ProjectSpec> {
    let mut applied: Value = serde_json::from_str(last_applied).ok()?;
    let spec: ProjectSpec = serde_json::from_value(applied["spec"].take()).ok()?;
    spec.directory.is_empty().then_some(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(spec: Value) -> ProjectSpec {
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn r15_what_was_applied_from_the_file_does_not_hide_the_file() {
        let object = || {
            spec(json!({
                "directory": "/srv/shop", "namespace": "web", "values": {"a": 1, "own": 2},
                "ignore": ["drafts", "own"], "grace": "5s",
            }))
        };
        let file =
            json!({"namespace": "web", "values": {"a": 1}, "ignore": ["drafts"], "grace": "2s"});
        let applied = json!({"kind": "Project", "spec": file}).to_string();
        let left = without_settings(object(), Some(&applied));
        let expected = json!({
            "directory": "/srv/shop", "values": {"own": 2}, "ignore": ["own"], "grace": "5s",
        });
        assert_eq!(left, spec(expected));
        // A manifest that names the directory is meant as it stands.
        let mut manifest = file;
        manifest["directory"] = "/srv/shop".into();
        let applied = json!({"kind": "Project", "spec": manifest}).to_string();
        assert_eq!(without_settings(object(), Some(&applied)), object());
        for other in [None, Some("{"), Some(r#"{"spec": {"values": 3}}"#)] {
            assert_eq!(without_settings(object(), other), object());
        }
    }

    #[test]
    fn r15_a_project_that_lost_its_directory_is_not_settings_alone() {
        let none = ProjectStatus::default();
        let had = ProjectStatus {
            objects: 3,
            ..ProjectStatus::default()
        };
        assert!(is_settings_alone(&spec(json!({})), &none));
        assert!(!is_settings_alone(&spec(json!({})), &had));
        assert!(!is_settings_alone(&spec(json!({"directory": "x"})), &none));
    }
}
