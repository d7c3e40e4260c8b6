//! What a built-in kind does beyond its schema: fields that it fills, rules between fields.
//!
//! A kind without rules of its own uses [`Plain`]. Everything that holds for all kinds (metadata,
//! generation, finalizers) is in `object::rules`, not here.

mod config;
pub mod definition;
pub mod event;
mod namespace;
mod quota;
mod rbac;
mod workload;

use landform_api::FieldError;

use crate::object::Object;

/// The rules of one kind.
pub trait KindRules: Send + Sync {
    /// Fills or resets fields of an object that is about to be created.
    fn prepare_create(&self, _object: &mut Object) {}

    /// Fills or resets fields of an object that is about to replace another.
    fn prepare_update(&self, _object: &mut Object, _old: &Object) {}

    /// What is wrong with an object beyond its schema; `old` is what it replaces.
    fn validate(&self, _object: &Object, _old: Option<&Object>) -> Vec<FieldError> {
        Vec::new()
    }
}

/// No rules beyond the schema.
pub struct Plain;

impl KindRules for Plain {}

/// The rules of a built-in kind.
#[must_use]
pub fn rules_of(group: &str, kind: &str) -> &'static dyn KindRules {
    match (group, kind) {
        ("", "Namespace") => &namespace::NamespaceRules,
        ("", "ConfigMap") => &config::ConfigMapRules,
        ("", "ResourceQuota") => &quota::QuotaRules,
        ("", "Secret") => &config::SecretRules,
        ("", "Pod") => &workload::PodRules,
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet") => {
            &workload::SelectorRules
        }
        (crate::rbac::GROUP, "Role") => &rbac::RoleRules { in_cluster: false },
        (crate::rbac::GROUP, "ClusterRole") => &rbac::RoleRules { in_cluster: true },
        (crate::rbac::GROUP, "RoleBinding") => &rbac::BindingRules { in_cluster: false },
        (crate::rbac::GROUP, "ClusterRoleBinding") => &rbac::BindingRules { in_cluster: true },
        ("apiextensions.k8s.io", "CustomResourceDefinition") => &definition::DefinitionRules,
        _ => &Plain,
    }
}
