//! The built-in kinds, from the schema crate's tables and this server's own rules for them.

use std::sync::{Arc, LazyLock};

use landform_schema::builtin::BuiltinKind;
use landform_store::Bucket;

use super::resource::{Origin, Presentation, Resource, Scale};
use crate::kinds;
use crate::object::names::NameRule;

/// All built-in kinds.
pub(super) fn resources() -> &'static [Arc<Resource>] {
    static RESOURCES: LazyLock<Vec<Arc<Resource>>> = LazyLock::new(|| {
        landform_schema::builtin::kinds()
            .iter()
            .map(|kind| Arc::new(resource(kind)))
            .collect()
    });
    &RESOURCES
}

fn resource(kind: &BuiltinKind) -> Resource {
    // Events are the same objects in both groups; they are stored as core events.
    let new_events = kind.group == "events.k8s.io";
    let (bucket_group, stored_api_version) = if new_events {
        ("", "v1".to_owned())
    } else {
        (
            kind.group,
            landform_api::kind::api_version(kind.group, kind.version),
        )
    };
    Resource {
        group: kind.group.into(),
        version: kind.version.into(),
        kind: kind.kind.into(),
        list_kind: kind.list_kind.clone(),
        plural: kind.plural.into(),
        singular: kind.singular.into(),
        short_names: kind.short_names.iter().map(ToString::to_string).collect(),
        categories: kind.categories.iter().map(ToString::to_string).collect(),
        namespaced: kind.namespaced,
        bucket: bucket(bucket_group, kind.plural),
        presentation: if new_events {
            Presentation::NewEvents
        } else {
            Presentation::AsStored
        },
        stored_api_version,
        schema: kind.schema.clone(),
        status: kind.status,
        scale: kind.scale.as_ref().map(|paths| Scale {
            spec_replicas: field_names(paths.spec_replicas),
            status_replicas: field_names(paths.status_replicas),
            selector: Some(field_names("spec.selector")),
        }),
        columns: Vec::new(),
        selectable: selectable(kind),
        name_rule: name_rule(kind),
        rules: kinds::rules_of(kind.group, kind.kind),
        origin: Origin::Builtin,
    }
}

/// Whether built-in kinds are in a group.
pub(super) fn has_group(group: &str) -> bool {
    resources().iter().any(|resource| resource.group == group)
}

/// The bucket of a resource.
pub(super) fn bucket(group: &str, plural: &str) -> Bucket {
    if group.is_empty() {
        Bucket::new(plural)
    } else {
        Bucket::new(&format!("{plural}.{group}"))
    }
}

fn field_names(path: &str) -> Vec<String> {
    path.split('.')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn name_rule(kind: &BuiltinKind) -> NameRule {
    match (kind.group, kind.kind) {
        ("", "Namespace") => NameRule::Label,
        ("", "Service") => NameRule::Label1035,
        ("rbac.authorization.k8s.io", _) => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

/// Fields beyond name and namespace that Kubernetes lets be selected.
fn selectable(kind: &BuiltinKind) -> Vec<String> {
    let fields: &[&str] = match (kind.group, kind.kind) {
        ("", "Pod") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "Event") => &[
            "reason",
            "regarding.kind",
            "regarding.name",
            "regarding.namespace",
            "regarding.uid",
            "reportingController",
            "type",
        ],
        ("", "Namespace") => &["status.phase"],
        ("", "Secret") => &["type"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("", "Node") => &["spec.unschedulable"],
        ("apps", "ReplicaSet") => &["status.replicas"],
        ("batch", "Job") => &["status.successful"],
        _ => &[],
    };
    fields.iter().map(ToString::to_string).collect()
}
