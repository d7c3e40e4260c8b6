//! One object, brought to where its manifest wants it, with all that others have set left alone.

use http::Method;
use kube::Client;
use landform_api::project::ANNOTATION_APPLIED;
use landform_project::apply::{self, Difference, Marks};
use serde_json::{Map, Value};

use crate::AnyError;
use crate::client::kind::Kind;
use crate::client::object::Manifest;
use crate::client::{get, merge, plain, send};

/// What kubectl has applied last, in its own words.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Created,
    Configured,
    Unchanged,
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        }
    }
}

/// An object after it was applied.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    pub(crate) object: Value,
    /// The object before; null when there was none.
    pub(crate) before: Value,
}

/// Creates or changes the object of a manifest. What was applied last is remembered on the object as its shape; of an
/// object that only kubectl has applied so far, kubectl's memory counts.
pub(crate) async fn apply_object(
    client: &Client,
    kind: Kind,
    manifest: &Manifest,
    dry_run: bool,
) -> Result<Applied, AnyError> {
    let place = manifest.place(kind, client.default_namespace());
    let query = if dry_run { "?dryRun=All" } else { "" };
    let at = |error: AnyError| -> AnyError {
        format!("{}: {}: {error}", manifest.at, place.short()).into()
    };
    let namespace = Some(place.namespace.as_str()).filter(|name| !name.is_empty());
    let wanted = |before: &Value| apply::prepare(&manifest.value, namespace, &Marks::of(before));
    if !manifest.name().is_empty()
        && let Some(before) = get(client, &place.path()).await.map_err(at)?
    {
        return change(client, &place, &wanted(&before), before, query)
            .await
            .map_err(at);
    }
    let path = format!("{}{query}", place.kind.list_path(&place.namespace));
    match send(client, Method::POST, &path, &wanted(&Value::Null)).await {
        Ok(object) => Ok(Applied {
            kind: place.kind,
            outcome: Outcome::Created,
            object,
            before: Value::Null,
        }),
        // Somebody was faster.
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
            let before = get(client, &place.path()).await.map_err(at)?;
            let before = before.ok_or_else(|| at("it comes and goes: try again".into()))?;
            change(client, &place, &wanted(&before), before, query)
                .await
                .map_err(at)
        }
        Err(error) => Err(at(plain(error))),
    }
}

async fn change(
    client: &Client,
    place: &crate::client::object::Place,
    wanted: &Value,
    before: Value,
    query: &str,
) -> Result<Applied, AnyError> {
    let Difference::Change(patch) = apply::difference(wanted, Some(&before)) else {
        return Ok(Applied {
            kind: place.kind.clone(),
            outcome: Outcome::Unchanged,
            object: before.clone(),
            before,
        });
    };
    let object = merge(client, &format!("{}{query}", place.path()), &patch).await?;
    Ok(Applied {
        kind: place.kind.clone(),
        outcome: if matters(&patch) {
            Outcome::Configured
        } else {
            Outcome::Unchanged
        },
        object,
        before,
    })
}

/// Whether a patch changes more than what we note on the object.
fn matters(patch: &Value) -> bool {
    let mut patch = patch.clone();
    if let Some(annotations) = patch
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION_APPLIED);
    }
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    if is_empty(&patch["metadata"]["annotations"])
        && let Some(metadata) = patch["metadata"].as_object_mut()
    {
        metadata.remove("annotations");
    }
    let fields = patch.as_object().into_iter().flatten();
    fields.into_iter().any(|(_, value)| !is_empty(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_only_noted_doesnt_matter() {
        let noted = json!({"metadata": {"annotations": {ANNOTATION_APPLIED: "{}"}}});
        assert!(!matters(&noted));
        let labelled =
            json!({"metadata": {"annotations": {ANNOTATION_APPLIED: "{}"}, "labels": {"a": "b"}}});
        assert!(matters(&labelled));
        assert!(matters(&json!({"data": {"old": null}})));
        assert!(matters(&json!({"metadata": {"annotations": {"a": "b"}}})));
    }
}
