//! Roles and bindings: rules that say something, and a binding that stays with its role.

use landform_api::{FieldError, FieldPath, FieldReason};
use serde_json::Value;

use super::KindRules;
use crate::object::Object;

/// Role, or ClusterRole.
pub(super) struct RoleRules {
    pub(super) in_cluster: bool,
}

/// RoleBinding, or ClusterRoleBinding.
pub(super) struct BindingRules {
    pub(super) in_cluster: bool,
}

fn list<'a>(object: &'a Object, field: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    let list = object.get(field).and_then(Value::as_array);
    list.into_iter().flatten().enumerate()
}

fn is_empty(value: &Value, field: &str) -> bool {
    let list = value.get(field).and_then(Value::as_array);
    list.is_none_or(Vec::is_empty)
}

fn error(path: &str, reason: FieldReason, message: &str) -> FieldError {
    FieldError::new(&FieldPath::of(path), reason, message)
}

impl KindRules for RoleRules {
    fn validate(&self, object: &Object, _old: Option<&Object>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut required = |at: usize, field: &str, message: &str| {
            let path = format!("rules[{at}].{field}");
            errors.push(error(&path, FieldReason::Required, message));
        };
        let mut misplaced = Vec::new();
        for (at, rule) in list(object, "rules") {
            if is_empty(rule, "verbs") {
                required(at, "verbs", "verbs must contain at least one value");
            }
            if is_empty(rule, "nonResourceURLs") {
                if is_empty(rule, "apiGroups") {
                    required(
                        at,
                        "apiGroups",
                        "resource rules must supply at least one api group",
                    );
                }
                if is_empty(rule, "resources") {
                    required(
                        at,
                        "resources",
                        "resource rules must supply at least one resource",
                    );
                }
                continue;
            }
            let mixed = ["apiGroups", "resources", "resourceNames"];
            if !self.in_cluster {
                misplaced.push((at, "namespaced rules cannot apply to non-resource URLs"));
            } else if mixed.iter().any(|field| !is_empty(rule, field)) {
                let message = "rules cannot apply to both regular resources and non-resource URLs";
                misplaced.push((at, message));
            }
        }
        errors.extend(misplaced.into_iter().map(|(at, message)| {
            let path = format!("rules[{at}].nonResourceURLs");
            error(&path, FieldReason::Invalid, message)
        }));
        errors
    }
}

impl KindRules for BindingRules {
    fn validate(&self, object: &Object, old: Option<&Object>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let text = |value: &Value, field: &str| {
            let text = value.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let role = object.get("roleRef").unwrap_or(&Value::Null);
        let kinds: &[&str] = if self.in_cluster {
            &["ClusterRole"]
        } else {
            &["Role", "ClusterRole"]
        };
        if !kinds.contains(&text(role, "kind").as_str()) {
            let message = format!("supported values: {}", kinds.join(", "));
            errors.push(error("roleRef.kind", FieldReason::NotSupported, &message));
        }
        if text(role, "name").is_empty() {
            errors.push(error(
                "roleRef.name",
                FieldReason::Required,
                "say which role",
            ));
        }
        if old.is_some_and(|old| old.get("roleRef") != object.get("roleRef")) {
            let message = "cannot change roleRef: delete the binding and make another";
            errors.push(error("roleRef", FieldReason::Invalid, message));
        }
        for (at, subject) in list(object, "subjects") {
            let field = |name: &str| format!("subjects[{at}].{name}");
            if text(subject, "name").is_empty() {
                errors.push(error(&field("name"), FieldReason::Required, "say who"));
            }
            match text(subject, "kind").as_str() {
                "User" | "Group" => {}
                "ServiceAccount" => {
                    if self.in_cluster && text(subject, "namespace").is_empty() {
                        let message = "say in which namespace the service account is";
                        errors.push(error(&field("namespace"), FieldReason::Required, message));
                    }
                }
                _ => {
                    let message = "supported values: ServiceAccount, User, Group";
                    errors.push(error(&field("kind"), FieldReason::NotSupported, message));
                }
            }
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problems(rules: &dyn KindRules, object: &Value, old: Option<&Value>) -> Vec<String> {
        let object = object.as_object().unwrap();
        let errors = rules.validate(object, old.map(|old| old.as_object().unwrap()));
        errors.iter().map(|error| error.path.to_string()).collect()
    }

    #[test]
    fn a_rule_has_verbs_and_either_resources_or_paths() {
        let (role, cluster_role) = (
            RoleRules { in_cluster: false },
            RoleRules { in_cluster: true },
        );
        let pods = json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]});
        assert_eq!(problems(&role, &pods, None), [""; 0]);
        let bare = json!({"rules": [{}]});
        assert_eq!(
            problems(&role, &bare, None),
            ["rules[0].verbs", "rules[0].apiGroups", "rules[0].resources"]
        );
        let paths = json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]});
        assert_eq!(problems(&role, &paths, None), ["rules[0].nonResourceURLs"]);
        assert_eq!(problems(&cluster_role, &paths, None), [""; 0]);
        let both =
            json!({"rules": [{"verbs": ["get"], "resources": ["a"], "nonResourceURLs": ["/"]}]});
        assert_eq!(
            problems(&cluster_role, &both, None),
            ["rules[0].nonResourceURLs"]
        );
    }

    #[test]
    fn a_binding_names_a_role_for_good_and_somebody() {
        let (binding, cluster) = (
            BindingRules { in_cluster: false },
            BindingRules { in_cluster: true },
        );
        let account = json!({"kind": "ServiceAccount", "name": "a"});
        let good = json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [account]});
        assert_eq!(problems(&binding, &good, Some(&good)), [""; 0]);
        assert_eq!(
            problems(&cluster, &good, None),
            ["roleRef.kind", "subjects[0].namespace"]
        );
        let other = json!({"roleRef": {"kind": "Role", "name": "other"}});
        assert_eq!(problems(&binding, &other, Some(&good)), ["roleRef"]);
        let nobody =
            json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "Robot"}]});
        assert_eq!(
            problems(&binding, &nobody, None),
            ["subjects[0].name", "subjects[0].kind"]
        );
    }
}
