//! Groups, versions and resources: one list each (the old form), or all at once (aggregated).

use std::collections::BTreeMap;

use landform_api::kind::api_version;
use serde_json::{Value, json};

use crate::registry::{Kinds, Resource};
use crate::verbs::REVIEWS;
use crate::view::{GROUP, VERSION, Virtual};

const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

/// `/api`.
pub(super) fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// Groups besides the core one, with their versions. Reviews add groups that have nothing else.
fn named_groups(kinds: &Kinds) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = kinds
        .groups()
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| {
            (
                group.clone(),
                versions.iter().map(|(v, _)| v.clone()).collect(),
            )
        })
        .collect();
    for (group, ..) in REVIEWS {
        groups
            .entry(group.into())
            .or_insert_with(|| vec!["v1".into()]);
    }
    groups
}

/// `/apis`.
pub(super) fn groups(kinds: &Kinds) -> Value {
    let groups: Vec<Value> = named_groups(kinds)
        .into_iter()
        .map(|(group, versions)| group_value(&group, &versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub(super) fn group(kinds: &Kinds, group: &str) -> Option<Value> {
    let groups = named_groups(kinds);
    let mut value = group_value(group, groups.get(group)?);
    value["kind"] = json!("APIGroup");
    value["apiVersion"] = json!("v1");
    Some(value)
}

fn group_value(group: &str, versions: &[String]) -> Value {
    let entry =
        |version: &String| json!({"groupVersion": api_version(group, version), "version": version});
    json!({
        "name": group,
        "versions": versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(entry),
    })
}

/// The virtual resources of a group that has kinds in this version, so that clients resolve the names of rules. One that is
/// called as a kind of another group is left out: clients would find it instead of the kind.
fn virtual_of<'a>(
    kinds: &'a Kinds,
    own: &'a [Virtual],
    group: &str,
    version: &str,
) -> impl Iterator<Item = &'a Virtual> {
    let here = group == GROUP && version == VERSION && kinds.resources(group, version).is_some();
    own.iter().filter(move |found| {
        here && !kinds
            .preferred()
            .any(|resource| resource.plural == found.name)
    })
}

/// Singular and kind of a virtual resource, which no object has.
fn virtual_kind(found: &Virtual) -> (String, String) {
    let singular = found.name.strip_suffix("es").unwrap_or(found.name);
    let mut letters = singular.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let kind: String = first.into_iter().chain(letters).collect();
    (singular.to_owned(), format!("{kind}View"))
}

/// `/api/v1`, `/apis/GROUP/VERSION`.
pub(super) fn resources(
    kinds: &Kinds,
    own: &[Virtual],
    group: &str,
    version: &str,
) -> Option<Value> {
    let mut list = Vec::new();
    let found = kinds.resources(group, version);
    for resource in found.unwrap_or_default() {
        list.push(resource_value(resource));
        for (part, kind_group, kind_version, kind) in parts(resource) {
            let mut value = json!({
                "name": format!("{}/{part}", resource.plural), "singularName": "",
                "namespaced": resource.namespaced, "kind": kind, "verbs": part_verbs(part),
            });
            if (kind_group, kind_version) != (resource.group.as_str(), resource.version.as_str()) {
                value["group"] = json!(kind_group);
                value["version"] = json!(kind_version);
            }
            list.push(value);
        }
    }
    let reviews = reviews_of(group, version);
    for (_, plural, kind, namespaced) in reviews {
        list.push(json!({
            "name": plural, "singularName": kind.to_lowercase(), "namespaced": namespaced,
            "kind": kind, "verbs": ["create"],
        }));
    }
    for found in virtual_of(kinds, own, group, version) {
        let (singular, kind) = virtual_kind(found);
        list.push(json!({
            "name": found.name, "singularName": singular, "namespaced": found.namespaced,
            "kind": kind, "verbs": found.verbs,
        }));
    }
    if list.is_empty() {
        return None;
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": api_version(group, version), "resources": list,
    }))
}

fn reviews_of<'a>(
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str, bool)> + 'a {
    REVIEWS
        .iter()
        .filter(move |(found, ..)| *found == group && version == "v1")
}

fn resource_value(resource: &Resource) -> Value {
    let mut value = json!({
        "name": resource.plural, "singularName": resource.singular,
        "namespaced": resource.namespaced, "kind": resource.kind, "verbs": VERBS,
    });
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    value
}

/// The subresources: name, and group, version and kind of what they show.
fn parts(resource: &Resource) -> Vec<(&'static str, &str, &str, &str)> {
    let own = (
        resource.group.as_str(),
        resource.version.as_str(),
        resource.kind.as_str(),
    );
    let mut parts = Vec::new();
    if resource.is_namespaces() {
        parts.push(("finalize", own.0, own.1, own.2));
    }
    if resource.scale.is_some() {
        parts.push(("scale", "autoscaling", "v1", "Scale"));
    }
    if resource.status {
        parts.push(("status", own.0, own.1, own.2));
    }
    if resource.is_service_accounts() {
        parts.push(("token", "authentication.k8s.io", "v1", "TokenRequest"));
    }
    parts
}

fn part_verbs(part: &str) -> Vec<&'static str> {
    match part {
        "finalize" => vec!["update"],
        "token" => vec!["create"],
        _ => PART_VERBS.to_vec(),
    }
}

/// The groups of `/api` or `/apis` with their versions.
pub(super) fn aggregated_groups(kinds: &Kinds, core: bool) -> BTreeMap<String, Vec<String>> {
    if core {
        BTreeMap::from([(String::new(), vec!["v1".to_owned()])])
    } else {
        named_groups(kinds)
    }
}

/// `/api` or `/apis`, everything at once, made anew.
#[cfg(test)]
pub(super) fn aggregated(kinds: &Kinds, own: &[Virtual], core: bool, version: &str) -> Value {
    let groups = aggregated_groups(kinds, core).into_iter();
    let items: Vec<Value> = groups
        .map(|(group, versions)| aggregated_group(kinds, own, &group, &versions))
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items,
    })
}

/// A group as the aggregated form has it.
pub(super) fn aggregated_group(
    kinds: &Kinds,
    own: &[Virtual],
    group: &str,
    versions: &[String],
) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| {
            let mut resources: Vec<Value> = kinds
                .resources(group, version)
                .unwrap_or_default()
                .iter()
                .map(|resource| aggregated_resource(resource))
                .collect();
            resources.extend(reviews_of(group, version).map(|(_, plural, kind, namespaced)| {
                json!({
                    "resource": plural, "scope": scope(*namespaced), "singularResource": kind.to_lowercase(),
                    "responseKind": {"group": group, "version": version, "kind": kind}, "verbs": ["create"],
                })
            }));
            resources.extend(virtual_of(kinds, own, group, version).map(|found| {
                let (singular, kind) = virtual_kind(found);
                json!({
                    "resource": found.name, "scope": scope(found.namespaced), "singularResource": singular,
                    "responseKind": {"group": group, "version": version, "kind": kind}, "verbs": found.verbs,
                })
            }));
            json!({"version": version, "freshness": "Current", "resources": resources})
        })
        .collect();
    let metadata = if group.is_empty() {
        json!({})
    } else {
        json!({"name": group})
    };
    json!({"metadata": metadata, "versions": versions})
}

fn scope(namespaced: bool) -> &'static str {
    if namespaced { "Namespaced" } else { "Cluster" }
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut value = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": scope(resource.namespaced),
        "singularResource": resource.singular,
        "verbs": VERBS,
    });
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    let parts: Vec<Value> = parts(resource)
        .into_iter()
        .map(|(part, group, version, shown)| {
            json!({"subresource": part, "responseKind": kind(group, version, shown), "verbs": part_verbs(part)})
        })
        .collect();
    if !parts.is_empty() {
        value["subresources"] = json!(parts);
    }
    value
}

/// `/`: every path that isn't an object's.
pub(super) fn paths(kinds: &Kinds) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/api/v1".into(), "/apis".into()];
    for (group, versions) in named_groups(kinds) {
        paths.push(format!("/apis/{group}"));
        paths.extend(
            versions
                .iter()
                .map(|version| format!("/apis/{group}/{version}")),
        );
    }
    for path in [
        "/healthz",
        "/livez",
        "/readyz",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/version",
    ] {
        paths.push(path.into());
    }
    paths.sort();
    paths
}
