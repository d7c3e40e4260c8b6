//! Whether a namespace goes with its project: only if the project made it, and nothing of others is in it.

use std::collections::BTreeSet;

use http::Request;
use kube::Client;
use landform_api::project::{ANNOTATION_ADOPTED, LABEL_PROJECT};
use serde_json::Value;

use crate::apply::{self, ApplyError, Kinds, Served};
use crate::hidden::{Hidden, Known, discover};
use crate::live::changing;
use crate::object::ObjectId;

/// At most this many objects of others are looked for.
const FOREIGN_MAX: usize = 100;
/// Objects per page of a list.
const PAGE: u32 = 500;

/// Whether an object is a namespace.
pub(crate) fn is_namespace(id: &ObjectId) -> bool {
    id.group.is_empty() && id.kind == "Namespace"
}

/// Why a namespace stays when its project wants it no more; `None` when it goes.
///
/// # Errors
/// What the API answers.
pub(crate) async fn why_kept(
    client: &Client,
    kinds: &Kinds,
    namespace: &str,
    project: &str,
) -> Result<Option<String>, ApplyError> {
    let known = discover(client, kinds).await?;
    let all = &known.served;
    let id = ObjectId {
        kind: "Namespace".to_owned(),
        name: namespace.to_owned(),
        ..ObjectId::default()
    };
    let served = all
        .iter()
        .find(|served| served.kind.group.is_empty() && served.kind.kind == "Namespace");
    let Some(served) = served else {
        return Ok(None);
    };
    let Some(live) = apply::read(client, served, &id).await? else {
        return Ok(None);
    };
    let adopted = live["metadata"]["annotations"][ANNOTATION_ADOPTED].is_string();
    let foreign = if adopted {
        Vec::new()
    } else {
        foreign(client, &known, namespace, project).await?
    };
    Ok(decide(namespace, adopted, &foreign))
}

/// Decides. Pure.
fn decide(namespace: &str, adopted: bool, foreign: &[ObjectId]) -> Option<String> {
    if adopted {
        return Some(format!(
            "the namespace {namespace} stays: it was there before the project"
        ));
    }
    let first = foreign.first()?;
    let more = match foreign.len() - 1 {
        0 => String::new(),
        more if foreign.len() < FOREIGN_MAX => format!(" and {more} more"),
        _ => " and many more".to_owned(),
    };
    Some(format!(
        "the namespace {namespace} stays: it has objects that are not the project's, {first}{more}"
    ))
}

/// Objects in a namespace that would be lost with it: not the project's, not made by the API itself, and not owned by
/// something in the namespace, with which they go or stay.
async fn foreign(
    client: &Client,
    known: &Known,
    namespace: &str,
    project: &str,
) -> Result<Vec<ObjectId>, ApplyError> {
    let all = &known.served;
    let of_cluster: BTreeSet<(&str, &str)> = all
        .iter()
        .filter(|served| !served.namespaced)
        .map(|served| (served.kind.group.as_str(), served.kind.kind.as_str()))
        .collect();
    let listed = all.iter().filter(|served| {
        served.namespaced
            && served.listed
            && !matches!(served.kind.kind.as_str(), "Event" | "Lease")
    });
    let hidden = known.hidden.iter();
    let hidden = hidden.filter(|hidden| hidden.project() != Some(project));
    let hidden = hidden.filter(|hidden| !is_owned(&hidden.metadata, &of_cluster));
    let hidden = hidden
        .map(Hidden::id)
        .filter(|id| id.namespace.as_deref() == Some(namespace));
    let mut found: Vec<_> = hidden.take(FOREIGN_MAX).collect();
    for served in listed {
        let mut token = String::new();
        loop {
            let path = served.path(Some(namespace), None);
            let selector = format!("{LABEL_PROJECT}%21%3D{project}");
            let url = format!("{path}?labelSelector={selector}&limit={PAGE}&continue={token}");
            let request = Request::get(url).body(Vec::new());
            let request = request.map_err(|error| ApplyError::Transient(error.to_string()))?;
            let page: Value = match client.request(request).await {
                Ok(page) => page,
                Err(kube::Error::Api(status)) if status.code == 405 => break,
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    return Err(changing(served));
                }
                Err(error) => return Err(error.into()),
            };
            for object in page["items"].as_array().into_iter().flatten() {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                if !is_of_the_api(served, name) && !is_owned(&object["metadata"], &of_cluster) {
                    let kind = served.kind.clone().into();
                    found.push(ObjectId::of(&kind, namespace, name));
                }
                if found.len() >= FOREIGN_MAX {
                    return Ok(found);
                }
            }
            token = crate::live::encoded(page["metadata"]["continue"].as_str().unwrap_or_default());
            if token.is_empty() {
                break;
            }
        }
    }
    Ok(found)
}

/// What every namespace has.
fn is_of_the_api(served: &Served, name: &str) -> bool {
    matches!(
        (served.kind.group.as_str(), served.kind.kind.as_str(), name),
        ("", "ServiceAccount", "default") | ("", "ConfigMap", "kube-root-ca.crt")
    )
}

/// Whether an object has an owner that must be in its namespace.
fn is_owned(metadata: &Value, of_cluster: &BTreeSet<(&str, &str)>) -> bool {
    let owners = metadata["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| {
        let api_version = owner["apiVersion"].as_str().unwrap_or_default();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = owner["kind"].as_str().unwrap_or_default();
        !of_cluster.contains(&(group, kind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r15_a_namespace_goes_only_if_it_is_the_projects_and_nothing_else_is_in_it() {
        let map = |name: &str| ObjectId {
            kind: "ConfigMap".into(),
            namespace: Some("web".into()),
            name: name.into(),
            ..ObjectId::default()
        };
        let many: Vec<_> = (0..FOREIGN_MAX).map(|at| map(&at.to_string())).collect();
        let stays =
            "the namespace web stays: it has objects that are not the project's, ConfigMap web";
        for (adopted, foreign, expected) in [
            (false, vec![], None),
            (
                true,
                vec![],
                Some("the namespace web stays: it was there before the project".to_owned()),
            ),
            (false, vec![map("a")], Some(format!("{stays}/a"))),
            (
                false,
                vec![map("a"), map("b")],
                Some(format!("{stays}/a and 1 more")),
            ),
            (false, many, Some(format!("{stays}/0 and many more"))),
        ] {
            assert_eq!(decide("web", adopted, &foreign), expected);
        }
    }

    #[test]
    fn r15_what_is_owned_in_the_namespace_goes_with_its_owner() {
        let of_cluster = BTreeSet::from([("", "Namespace")]);
        let owned = |owners: Value| is_owned(&json!({"ownerReferences": owners}), &of_cluster);
        assert!(owned(
            json!([{"apiVersion": "example.com/v1", "kind": "Toy", "name": "t"}])
        ));
        assert!(!owned(
            json!([{"apiVersion": "v1", "kind": "Namespace", "name": "n"}])
        ));
        assert!(!owned(json!([])) && !owned(Value::Null));
    }
}
